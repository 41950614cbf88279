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
  let nextMs = nowMs + balanceEveryMs
  // One by one: a paused flow may have more units in transit than a call takes arguments.
  const due = (...times: number[]) => {
    for (const atMs of times) if (atMs > nowMs && atMs < nextMs) nextMs = atMs
  }
  const from = new Set<string>()
  for (const { from: id, sinceMs } of next.transit.values()) {
    from.add(id)
    due(sinceMs + withdrawMs, sinceMs + withdrawEjectMs)
  }
  for (const [id, worker] of next.workers) {
    if (!draft.dead.has(id) && isWaitedFor(id, worker, from)) due(overAtMs(worker, observed))
    if (worker.node !== null && !worker.counted && worker.firstMs !== null)
      due(worker.firstMs + freshTogetherMs, worker.firstMs + freshAloneMs)
    if (worker.strikes.untilMs !== null) due(worker.strikes.untilMs)
    if (worker.stoppingMs !== null) due(worker.stoppingMs + withdrawMs, worker.stoppingMs + stopDeadlineMs)
  }
  for (const sinceMs of next.moved.values()) due(sinceMs + wishKeptMs)
  due(next.balanceMs, next.sinceMs + officeQuietMs)
  return nextMs
}
