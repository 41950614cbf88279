import { leaseTimes, silentSince } from './lease.ts'
import { hasReached, type KnownWorker } from './memory.ts'
import type { Observed } from './observed.ts'
import type { PlanWorker, WorkerState } from './plan.ts'
import { isQuarantined } from './quarantine.ts'

/** What a worker is to the plan; `keeper` keeps what it has, and neither gives nor takes. */
export type Standing = WorkerState | 'keeper' | 'fresh' | 'gone'

/** Its lease is over for sure at that moment of the leader's clock (C-7, C-8). */
export function overAtMs(worker: KnownWorker, { answeredSinceMs, sessionMs }: Observed): number {
  const { takeoverMs, lookMs } = leaseTimes(sessionMs)
  const mine = worker.record === null ? takeoverMs : worker.record.leaseMs + lookMs
  return silentSince({ version: 0, atMs: worker.seenMs }, answeredSinceMs) + mine
}

/** Something of it is left that somebody may wait for. */
export function isWaitedFor(id: string, worker: KnownWorker, from: ReadonlySet<string>): boolean {
  if (worker.node !== null) return true
  if ((worker.assigned?.units.size ?? 0) > 0 || from.has(id)) return true
  if (worker.held?.state === 'left') return false
  const behind = worker.adopted !== null && !hasReached(worker.held, worker.adopted)
  return (worker.held?.units.size ?? 0) > 0 || worker.heldFault || behind
}

export function standingOf(id: string, worker: KnownWorker, dead: ReadonlySet<string>, how: Standings): Standing {
  if (dead.has(id) || worker.held?.state === 'left') return 'gone'
  if (worker.node === null) return 'keeper'
  // It keeps what it has while it beats, although nobody can say what it could take.
  if (worker.record === null || !worker.readable || worker.stoppingMs !== null) return 'keeper'
  if (isQuarantined(worker.strikes, how.nowMs)) return 'quarantined'
  if (how.drains.has(id)) return 'draining'
  return worker.counted && worker.assigned !== null ? 'ready' : 'fresh'
}

export type Standings = { nowMs: number; drains: ReadonlyMap<string, unknown> }

/** As the planner sees it; null: not at all. `tags`: all that any unit needs, so that a keeper loses none. */
export function planWorkerOf(
  id: string,
  worker: KnownWorker,
  standing: Standing,
  tags: readonly string[],
): PlanWorker | null {
  if (standing === 'gone' || standing === 'fresh') return null
  const { record } = worker
  if (standing === 'keeper' || record === null)
    return { id, state: 'retiring', capacity: record?.capacity ?? 1, tags, unitsMax: 0 }
  return { id, state: standing, capacity: record.capacity, tags: record.tags, unitsMax: record.unitsMax }
}
