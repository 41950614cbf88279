import { type Fault, MillraceError } from '../errors.ts'
import { every } from '../flow/every.ts'
import { troubleLookMs } from '../limits.ts'
import type { Clock } from '../ports/clock.ts'

/** Of a process of a fleet: whether it is known there, and why not. */
export type Standing = { registered: boolean; trouble: Fault | null }

/**
 * `work`, which rejects with `coordination-unreachable` when the process was not registered within `withinMs`: whoever
 * started it starts it anew (C-64). One that was registered once never ends for it, nor does one that is refused (C-84).
 */
export function startInTime(
  work: Promise<unknown>,
  standing: () => Standing,
  { clock, withinMs }: { clock: Clock; withinMs: number },
): Promise<unknown> {
  const { promise, reject } = Promise.withResolvers<never>()
  const sinceMs = clock.nowMs()
  const cancel = every(clock, troubleLookMs, () => {
    const { registered, trouble } = standing()
    if (registered) return cancel()
    if (clock.nowMs() - sinceMs < withinMs || trouble?.code !== 'coordination-unreachable') return
    cancel()
    const message = `not reached within ${withinMs / 1_000} s of the start: ${trouble.message}`
    reject(new MillraceError('coordination-unreachable', message, { hint: trouble.hint ?? null }))
  })
  return Promise.race([work, promise]).finally(cancel)
}
