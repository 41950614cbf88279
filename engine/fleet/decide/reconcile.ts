import { planMovesMax } from '../../limits.ts'
import { absorb, aheadOf } from './absorb.ts'
import { againAt } from './againAt.ts'
import { garbageOf } from './garbage.ts'
import { leavers } from './leavers.ts'
import type { Memory } from './memory.ts'
import { flowOf, type Observed } from './observed.ts'
import { type Plan, plan } from './plan.ts'
import { planView } from './planView.ts'
import { type Draft, draftOf, give, type Leaving, laggard, withdraw } from './roundDraft.ts'
import { slowOnes } from './slow.ts'
import { cleanedWishes } from './wishesDone.ts'
import { rewrites, type Writes, writesOf } from './writesOf.ts'

/** What somebody should hear of a round. */
export type Notice =
  | { code: 'worker-ejected'; worker: string; units: number; why: 'silent' | 'release-slow' }
  | { code: 'release-slow'; worker: string; units: readonly string[]; forMs: number }
  | { code: 'worker-quarantined'; worker: string; untilMs: number }
  | { code: 'units-moved'; reason: Leaving | 'given'; units: readonly string[] }

export type Reconciled = {
  /** To be remembered, whether the writes were done or not. */
  memory: Memory
  /** Null: nothing is to be written. */
  writes: Writes | null
  notices: Notice[]
  /** When something is due although nothing new is seen. */
  againAtMs: number
  /** A worker knows a higher epoch: this leader takes office anew (C-21). */
  behind: string | null
  plan: Plan
  /** By unit where it is withdrawn from and has not left yet. */
  waiting: ReadonlyMap<string, string>
  owners: ReadonlyMap<string, string>
  /** A worker that may hold any unit which stood in no document (C-42). */
  laggard: string | null
  /** Documents are written again before anything else. */
  inDoubt: boolean
  standings: Draft['standings']
}

/**
 * One round of the leader (C-40): from all that was read to what is to be written. Pure, and of levels only: a round
 * that was not written, or written in part, is put right by the next.
 */
export function reconcile(before: Memory, observed: Observed, nowMs: number, movesMax = planMovesMax): Reconciled {
  const memory = absorb(before, observed, nowMs)
  const draft = draftOf(memory, observed, nowMs)
  if (observed.doubtful.size > 0) return rewritten(draft)
  leavers(draft)
  const view = planView(draft)
  const found = plan(view.view, movesMax)
  for (const { id, to } of found.give) give(draft, id, to)
  for (const { id, from, to } of found.withdraw) withdraw(draft, id, from, view.reasonOf(id, found.why), to)
  const { ejects, notices, slowSaid } = slowOnes(draft)
  const garbage = garbageOf(draft)
  const next = remembered(draft, found, view, { slowSaid, garbage })
  const wishes = cleanedWishes(draft, next, found)
  const writes = writesOf(draft, { ejects, wishes, garbage })
  return {
    memory: { ...next, generation: writes === null ? memory.generation : writes.generation },
    writes,
    notices: [...notices, ...quarantinesOf(before, memory), ...draft.notices, ...movesOf(draft)],
    againAtMs: againAt(draft, next),
    behind: aheadOf(memory),
    plan: found,
    waiting: draft.waiting,
    owners: draft.owners,
    laggard: laggard(draft),
    inDoubt: false,
    standings: draft.standings,
  }
}

/** Before anything else: what may still come of a write that was not answered is made to fail. */
function rewritten(draft: Draft): Reconciled {
  const { memory, nowMs, waiting, owners, standings } = draft
  const writes = rewrites(draft)
  const none: Plan = { give: [], withdraw: [], unplaced: [], why: 'transit', more: false, loads: new Map() }
  const next = { ...memory, generation: writes.generation }
  const more = {
    notices: [],
    againAtMs: nowMs,
    behind: aheadOf(memory),
    plan: none,
    laggard: laggard(draft),
    inDoubt: true,
  }
  return { memory: next, writes, waiting, owners, standings, ...more }
}

function movesOf({ moves }: Draft): Notice[] {
  return [...Map.groupBy(moves, move => move.reason)].map(([reason, of]) => ({
    code: 'units-moved',
    reason,
    units: of.map(move => move.unit),
  }))
}

function quarantinesOf(before: Memory, { workers }: Memory): Notice[] {
  return [...workers].flatMap(([worker, { strikes }]): Notice[] => {
    const isNew = strikes.untilMs !== null && before.workers.get(worker)?.strikes.untilMs !== strikes.untilMs
    return isNew ? [{ code: 'worker-quarantined', worker, untilMs: strikes.untilMs ?? 0 }] : []
  })
}

const guestBy: Readonly<Record<Leaving, boolean | null>> = {
  ...{ silent: true, left: true, stopped: true, drain: true },
  ...{ ended: false, paused: false, wish: false, stuck: false, balance: false },
  again: null,
}

function guestsAfter({ memory, observed, moves, nowMs }: Draft): Memory['guests'] {
  if (moves.length === 0) return memory.guests
  const guests = new Map([...memory.guests].filter(([unit]) => observed.flows.has(flowOf(unit))))
  for (const { unit, reason } of moves) {
    const is = reason === 'given' ? null : guestBy[reason]
    if (is === true) guests.set(unit, nowMs)
    if (is === false) guests.delete(unit)
  }
  return guests
}

/** What the next round has to know of this one. */
function remembered(
  draft: Draft,
  found: Plan,
  view: ReturnType<typeof planView>,
  { slowSaid, garbage }: { slowSaid: ReadonlySet<string>; garbage: readonly string[] },
): Memory {
  const { memory, nowMs, observed } = draft
  const workers = new Map(
    [...memory.workers].map(([id, worker]) => {
      // What a new life holds is only known from its report.
      const fresh = worker.held === null || worker.heldFault ? worker.fresh : null
      return [id, { ...worker, fresh, slowSaid: slowSaid.has(id) }] as const
    }),
  )
  for (const id of garbage) workers.delete(id)
  const unheld = new Map<string, number>()
  for (const unit of view.wanted) {
    const owner = draft.owners.get(unit)
    if (owner === undefined || !memory.workers.get(owner)?.held?.units.has(unit))
      unheld.set(unit, memory.unheld.get(unit) ?? nowMs)
  }
  const moved = new Map<string, number>()
  for (const [unit, to] of observed.wishes.moves) {
    const is = draft.owners.get(unit) === to && memory.workers.get(to)?.held?.units.has(unit)
    if (is) moved.set(unit, memory.moved.get(unit) ?? nowMs)
  }
  return {
    ...memory,
    workers,
    intents: new Map([...draft.intents].filter(([unit]) => observed.flows.has(flowOf(unit)))),
    guests: guestsAfter(draft),
    ended: draft.ended,
    unheld,
    moved,
    ...view.balanced(found),
  }
}
