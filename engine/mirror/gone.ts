import { MillraceError } from '../errors.ts'
import { topicGoneMs } from '../limits.ts'
import { halt, type Run } from './run.ts'

/**
 * A copy until the end would wait for ever for a topic that was deleted on its way (M-14): after a while its partition
 * ends with that fault. What the destination still takes of it is waited for. A copy without end goes on waiting.
 */
export function endWhereGone(run: Run, nowMs: number): void {
  const { unit, lane } = run
  for (const trouble of [unit.stream?.trouble() ?? null, lane.trouble()]) {
    if (trouble?.code !== 'source-missing' && trouble?.code !== 'destination-missing') continue
    if (run.gone !== null || nowMs - trouble.sinceMs < topicGoneMs) continue
    const hint = 'it was deleted while it was copied: leave it out, or make it anew and copy again'
    run.gone = new MillraceError(trouble.code, trouble.message, { hint, kafka: trouble.kafka })
    if (trouble.code === 'destination-missing') halt(run)
    else run.reading.abort()
  }
}

/**
 * Nor does it wait for what was cut off the log: all of it is read, and its end stays below the one that was seen. For
 * a while, since a new leader may know less of the end than the one before.
 */
export function endWhereCut(run: Run, nowMs: number): void {
  const { unit } = run
  const { lastStable } = unit.counts
  const isShort = unit.until !== null && lastStable !== null && lastStable < unit.until
  if (!isShort || unit.window.position < lastStable) {
    unit.shortSinceMs = null
    return
  }
  unit.shortSinceMs ??= nowMs
  if (nowMs - unit.shortSinceMs < topicGoneMs) return
  unit.until = lastStable
  run.reading.abort()
}
