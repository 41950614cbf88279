import type { Fault } from '../errors.ts'
import type { FlowEvent } from '../flow/event.ts'
import { every } from '../flow/every.ts'
import { coordinationSaidMs, saidAgainMs, troubleLookMs } from '../limits.ts'
import type { Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'

/**
 * Says why a process does not agree with its fleet: when that has lasted 2 s, each minute while it lasts, and that it
 * is over (C-64). Gives the function that ends it.
 */
export function tellCoordination(
  trouble: () => Fault | null,
  { clock, log, tell }: { clock: Clock; log: Log; tell(flow: null, event: FlowEvent): void },
): () => void {
  let sinceMs: number | null = null
  let saidMs: number | null = null
  return every(clock, troubleLookMs, () => {
    const fault = trouble()
    const nowMs = clock.nowMs()
    if (fault === null) {
      if (saidMs !== null) log.info('the coordination service answers again')
      sinceMs = null
      saidMs = null
      return
    }
    sinceMs ??= nowMs
    const isDue = saidMs === null ? nowMs - sinceMs >= coordinationSaidMs : nowMs - saidMs >= saidAgainMs
    if (!isDue) return
    saidMs = nowMs
    tell(null, fault)
  })
}
