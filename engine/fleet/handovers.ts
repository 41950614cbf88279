import type { Memory } from './decide/memory.ts'
import { flowOf } from './decide/observed.ts'
import type { Notice, Reconciled } from './decide/reconcile.ts'
import { type Timings, timings } from './timings.ts'

type Moved = Extract<Notice, { code: 'units-moved' }>

/** How long units were without an owner that reports them, as the leader sees it: on their way, and when they were new. */
export type Handovers = {
  /** The withdrawal stands. */
  moved(notice: Moved, nowMs: number): void
  /** A round has read what is held. */
  round(found: Pick<Reconciled, 'memory' | 'owners'>, nowMs: number): void
  /** The office is over: what the next leader sees of them is its own. */
  forget(): void
  readonly taken: Timings
  /** By flow. */
  readonly first: ReadonlyMap<string, Timings>
}

export function handovers(): Handovers {
  const withdrawn = new Map<string, number>()
  const fresh = new Map<string, number>()
  const taken = timings()
  const first = new Map<string, Timings>()

  function noteFirst(unit: string, ms: number): void {
    const flow = flowOf(unit)
    const of = first.get(flow) ?? timings()
    first.set(flow, of)
    of.note(ms)
  }

  return {
    taken,
    first,
    moved({ reason, units }, nowMs) {
      // Nobody is to take over what is paused or has ended by itself.
      if (reason === 'given' || reason === 'paused' || reason === 'ended') return
      for (const unit of units) withdrawn.set(unit, nowMs)
    },
    round({ memory, owners }, nowMs) {
      for (const [unit, sinceMs] of memory.unheld) {
        if (!memory.placed.has(unit) && !fresh.has(unit)) fresh.set(unit, sinceMs)
      }
      settle(withdrawn, { memory, owners }, (_, sinceMs) => taken.note(nowMs - sinceMs))
      settle(fresh, { memory, owners }, (unit, sinceMs) => noteFirst(unit, nowMs - sinceMs))
    },
    forget() {
      withdrawn.clear()
      fresh.clear()
    },
  }
}

/** What is held by its owner is over; so is what nobody wants any more, and that took no time. */
function settle(
  open: Map<string, number>,
  { memory, owners }: { memory: Memory; owners: ReadonlyMap<string, string> },
  over: (unit: string, sinceMs: number) => void,
): void {
  for (const [unit, sinceMs] of open) {
    if (memory.unheld.has(unit)) continue
    open.delete(unit)
    const owner = owners.get(unit)
    if (owner !== undefined && memory.workers.get(owner)?.held?.units.has(unit)) over(unit, sinceMs)
  }
}
