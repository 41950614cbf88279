import {
  balanceEveryMs,
  freshAloneMs,
  freshTogetherMs,
  officeQuietMs,
  stopDeadlineMs,
  wishKeptMs,
  withdrawEjectMs,
  withdrawMs,
} from '../../limits.ts'
import type { Memory } from './memory.ts'
import type { Draft } from './roundDraft.ts'
import { isWaitedFor, overAtMs } from './workerStates.ts'

/** When time alone makes something due: the end of a lease, of a wait, the next look at the loads. */
export function againAt(draft: Draft, next: Memory): number {
  const { nowMs, observed } = draft
  const times = [nowMs + balanceEveryMs]
  const from = new Set<string>()
  for (const { from: id, sinceMs } of next.transit.values()) {
    from.add(id)
    times.push(sinceMs + withdrawMs, sinceMs + withdrawEjectMs)
  }
  for (const [id, worker] of next.workers) {
    if (!draft.dead.has(id) && isWaitedFor(id, worker, from)) times.push(overAtMs(worker, observed))
    if (worker.node !== null && !worker.counted && worker.firstMs !== null)
      times.push(worker.firstMs + freshTogetherMs, worker.firstMs + freshAloneMs)
    if (worker.strikes.untilMs !== null) times.push(worker.strikes.untilMs)
    if (worker.stoppingMs !== null) times.push(worker.stoppingMs + withdrawMs, worker.stoppingMs + stopDeadlineMs)
  }
  for (const sinceMs of next.moved.values()) times.push(sinceMs + wishKeptMs)
  times.push(next.balanceMs, next.sinceMs + officeQuietMs)
  return Math.min(...times.filter(atMs => atMs > nowMs))
}
