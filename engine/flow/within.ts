import { MillraceError } from '../errors.ts'
import type { Clock } from '../ports/clock.ts'

/**
 * Work that tries until its signal says so, for `ms` at most: then it rejects with `kafka-unreachable`, retryable, and
 * says of `what` there was no answer. With the signal of `how` it rejects as the work does.
 */
export async function within<T>(
  how: { clock: Clock; signal: AbortSignal },
  ms: number,
  what: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController()
  const cancel = how.clock.after(ms, () => {
    const message = `${what}: no answer within ${ms / 1000} s`
    late.abort(new MillraceError('kafka-unreachable', message, { retryable: true }))
  })
  try {
    return await work(AbortSignal.any([how.signal, late.signal]))
  } finally {
    cancel()
  }
}
