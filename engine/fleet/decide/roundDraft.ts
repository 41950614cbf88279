import type { Memory } from './memory.ts'
import type { Observed } from './observed.ts'
import type { Notice } from './reconcile.ts'
import { strays, unreached } from './transit.ts'
import { isWaitedFor, overAtMs, type Standing, standingOf } from './workerStates.ts'

/** Why a unit leaves a worker. */
export type Leaving =
  | 'silent'
  | 'left'
  | 'stopped'
  | 'again'
  | 'ended'
  | 'paused'
  | 'drain'
  | 'wish'
  | 'stuck'
  | 'balance'

/** A round while it is made: what is known, and what will be written. */
export type Draft = {
  memory: Memory
  observed: Observed
  nowMs: number
  /** Their leases are over. */
  dead: ReadonlySet<string>
  standings: ReadonlyMap<string, Standing>
  /** Who will have a unit in his document. */
  owners: Map<string, string>
  /** By worker what will stand in its document, where that is something else than now. */
  next: Map<string, Set<string>>
  /** Units that somebody may still run although they stand in no document of his, and who. */
  waiting: Map<string, string>
  intents: Map<string, string>
  ended: Map<string, number>
  moves: { unit: string; reason: Leaving | 'given' }[]
  notices: Notice[]
}

export function draftOf(memory: Memory, observed: Observed, nowMs: number): Draft {
  const from = new Set([...memory.transit.values()].map(one => one.from))
  const dead = new Set<string>()
  for (const [id, worker] of memory.workers) {
    if (isWaitedFor(id, worker, from) && nowMs >= overAtMs(worker, observed)) dead.add(id)
  }
  const drains = observed.wishes.drains
  const standings = new Map(
    [...memory.workers].map(([id, worker]) => [id, standingOf(id, worker, dead, { nowMs, drains })] as const),
  )
  const owners = new Map<string, string>()
  for (const [id, { assigned }] of memory.workers) for (const unit of assigned?.units ?? []) owners.set(unit, id)
  return {
    ...{ memory, observed, nowMs, dead, standings, owners },
    next: new Map(),
    waiting: waitingOf(memory, owners, dead),
    intents: new Map(memory.intents),
    ended: new Map(memory.ended),
    moves: [],
    notices: [],
  }
}

/** The units that are not free (C-42); what only the dead held is free. */
function waitingOf(
  memory: Memory,
  owners: ReadonlyMap<string, string>,
  dead: ReadonlySet<string>,
): Map<string, string> {
  const alive = new Map([...memory.workers].filter(([id]) => !dead.has(id)))
  const waiting = strays(alive, owners)
  for (const [unit, { from }] of memory.transit) if (!dead.has(from)) waiting.set(unit, from)
  return waiting
}

/** Why nobody may be given this unit now: who may still run it; null: it is free. */
export function heldBackBy(draft: Draft, unit: string, behind: string | null): string | null {
  const waited = draft.waiting.get(unit)
  if (waited !== undefined) return waited
  return behind !== null && !draft.memory.placed.has(unit) ? behind : null
}

/** A worker that lags behind the document that this leader found. */
export function laggard({ memory, dead }: Draft): string | null {
  return unreached(new Map([...memory.workers].filter(([id]) => !dead.has(id))))
}

export function documentOf(draft: Draft, id: string): Set<string> {
  let units = draft.next.get(id)
  if (!units) {
    units = new Set(draft.memory.workers.get(id)?.assigned?.units)
    draft.next.set(id, units)
  }
  return units
}

export function give(draft: Draft, unit: string, to: string): void {
  documentOf(draft, to).add(unit)
  draft.owners.set(unit, to)
  draft.intents.delete(unit)
  draft.moves.push({ unit, reason: 'given' })
}

/** It is in transit from now on, meant for `to`. */
export function withdraw(draft: Draft, unit: string, from: string, reason: Leaving, to: string | null): void {
  takeOut(draft, unit, from, reason)
  draft.waiting.set(unit, from)
  if (to !== null) draft.intents.set(unit, to)
}

/** It is free at once: nobody may run it any more. */
export function takeOut(draft: Draft, unit: string, from: string, reason: Leaving): void {
  documentOf(draft, from).delete(unit)
  draft.owners.delete(unit)
  draft.moves.push({ unit, reason })
}
