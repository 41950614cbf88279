import { balanceEveryMs, balanceReadyMs, drainTimeoutMs, officeQuietMs } from '../../limits.ts'
import type { Memory } from './memory.ts'
import { flowOf, type PlannedUnit, partOfUnit, type SeenFlow } from './observed.ts'
import type { Plan, PlanItem, PlanView, PlanWorker, Why } from './plan.ts'
import { type Draft, heldBackBy, type Leaving, laggard } from './roundDraft.ts'
import { isPausedIn } from './wantedUnits.ts'
import { planWorkerOf } from './workerStates.ts'

export type RoundView = {
  view: PlanView
  /** Units that should have an owner now. */
  wanted: readonly string[]
  reasonOf(unit: string, why: Why): Leaving
  /** What follows for the next look at the loads. */
  balanced(found: Plan): Pick<Memory, 'ready' | 'balanceMs' | 'settling'>
}

/** What the planner is shown: units that may be planned, and workers as they stand (C-50 … C-54). */
export function planView(draft: Draft): RoundView {
  const { memory, observed, nowMs } = draft
  const { wishes } = observed
  const behind = laggard(draft)
  const items: PlanItem[] = []
  const wanted: string[] = []
  const tags = new Set<string>()
  for (const [unit, planned, flow] of plannedUnits(draft)) {
    const owner = draft.owners.get(unit) ?? null
    wanted.push(unit)
    // Not to be given: an action writes under its name (C-95), or it has ended and nobody has looked since (C-45).
    if (owner === null && (flow.reserved.has(unit) || isEnded(draft, unit, flow))) continue
    const requires = flow.requires.length === 0 ? planned.requires : [...flow.requires, ...planned.requires]
    for (const tag of requires) tags.add(tag)
    const waits = owner === null && heldBackBy(draft, unit, behind) !== null
    items.push({
      ...{ id: unit, part: partOfUnit(unit), weight: observed.weightOf(unit), requires, owner },
      movable: planned.movable || isDrainedLong(draft, owner),
      inTransit: waits,
      intent: draft.intents.get(unit) ?? null,
      wish: wishes.moves.get(unit) ?? null,
      guest: memory.guests.get(unit) ?? null,
    })
  }
  const workers = planWorkers(draft, [...tags])
  moveStuck(items, workers, draft)
  const ready = new Set(workers.filter(worker => worker.state === 'ready').map(worker => worker.id))
  const balanceMs = dueMs(draft, ready)
  const isQuiet = memory.adopts && nowMs - memory.sinceMs < officeQuietMs
  const isDue = !isQuiet && (nowMs >= balanceMs || memory.settling || wishes.rebalance > 0)
  const force = isDue && wishes.rebalance > 0
  const view = { workers, items, settling: memory.settling, force, auto: isDue && wishes.auto }
  return {
    view,
    wanted,
    reasonOf: reasonFor(draft),
    balanced: found => after(found, memory.settling, { ready, balanceMs, isDue, nowMs }),
  }
}

function* plannedUnits({ observed, owners }: Draft): Generator<[unit: string, PlannedUnit, SeenFlow]> {
  const unknown: PlannedUnit = { weight: 0, movable: true, requires: [] }
  for (const flow of observed.flows.values()) {
    if (flow.deleting || flow.units === null) continue
    for (const [unit, planned] of flow.units) if (!isPausedIn(flow, unit)) yield [unit, planned, flow]
  }
  // Of a flow that nobody could look at, what runs goes on.
  const unseen = new Map([...observed.flows].filter(([, flow]) => flow.units === null && !flow.deleting))
  if (unseen.size === 0) return
  for (const unit of owners.keys()) {
    const flow = unseen.get(flowOf(unit))
    if (flow) yield [unit, unknown, flow]
  }
}

function isEnded({ ended }: Draft, unit: string, { lookedAt }: SeenFlow): boolean {
  const atEnd = ended.get(unit)
  if (atEnd === undefined) return false
  if (lookedAt <= atEnd) return true
  ended.delete(unit)
  return false
}

/** What would start over is left to end, for so long (C-50). */
function isDrainedLong({ memory, nowMs }: Draft, owner: string | null): boolean {
  const drainMs = owner === null ? null : (memory.workers.get(owner)?.drainMs ?? null)
  return drainMs !== null && nowMs - drainMs >= drainTimeoutMs
}

function planWorkers({ memory, standings }: Draft, tags: readonly string[]): PlanWorker[] {
  const workers: PlanWorker[] = []
  for (const [id, worker] of memory.workers) {
    const one = planWorkerOf(id, worker, standings.get(id) ?? 'gone', tags)
    if (one) workers.push(one)
  }
  return workers
}

/** A unit that stands still goes to the ready worker with the lowest load (C-58), as if somebody had wished it. */
function moveStuck(items: PlanItem[], workers: readonly PlanWorker[], { observed }: Draft): void {
  if (observed.stuck.size === 0) return
  const loads = new Map<string, number>()
  for (const { owner, weight } of items) if (owner !== null) loads.set(owner, (loads.get(owner) ?? 0) + weight)
  const ratio = ({ id, capacity }: PlanWorker) => (loads.get(id) ?? 0) / capacity
  for (const item of items) {
    if (!observed.stuck.has(item.id) || item.owner === null || item.wish !== null || !item.movable) continue
    const fit = workers.filter(
      one => one.state === 'ready' && one.id !== item.owner && item.requires.every(tag => one.tags.includes(tag)),
    )
    item.wish = fit.sort((a, b) => ratio(a) - ratio(b) || (a.id < b.id ? -1 : 1))[0]?.id ?? null
  }
}

/** A worker that has become ready is a reason to look, 2 s after it (C-55); a new one has been waited for already. */
function dueMs({ memory, nowMs }: Draft, ready: ReadonlySet<string>): number {
  const came = [...ready].filter(id => !memory.ready.has(id))
  if (came.length === 0) return memory.balanceMs
  const isNew = came.some(id => (memory.workers.get(id)?.firstMs ?? 0) >= nowMs - balanceEveryMs - balanceReadyMs)
  return Math.min(memory.balanceMs, isNew ? nowMs : nowMs + balanceReadyMs)
}

/** What was stopped by its limit of moves goes on when nothing is in transit any more. */
function after(
  found: Plan,
  settling: boolean,
  { ready, balanceMs, isDue, nowMs }: { ready: ReadonlySet<string>; balanceMs: number; isDue: boolean; nowMs: number },
): Pick<Memory, 'ready' | 'balanceMs' | 'settling'> {
  const isReached = isDue && found.why !== 'gave' && found.why !== 'leaving' && found.why !== 'transit'
  if (!isReached) return { ready, balanceMs, settling }
  return { ready, balanceMs: nowMs + balanceEveryMs, settling: found.why === 'balance' && found.more }
}

function reasonFor({ observed, standings, owners }: Draft): RoundView['reasonOf'] {
  const before = new Map(owners)
  return (unit, why) => {
    if (why === 'balance') return 'balance'
    if (observed.wishes.moves.has(unit)) return 'wish'
    if (observed.stuck.has(unit) && standings.get(before.get(unit) ?? '') === 'ready') return 'stuck'
    return 'drain'
  }
}
