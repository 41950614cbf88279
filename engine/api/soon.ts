import { MillraceError } from '../errors.ts'
import type { Ask } from './route.ts'

/**
 * What brokers say within `ms`, else `kafka-unreachable`: they are asked again for as long as it takes, and whoever asks
 * here waits for an answer. Work that does not hear its signal is not waited for either.
 */
export async function soon<T>(
  { parts, signal }: Pick<Ask, 'parts' | 'signal'>,
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController()
  const { promise, reject } = Promise.withResolvers<never>()
  const cancel = parts.clock.after(ms, () => {
    late.abort()
    reject(new MillraceError('kafka-unreachable', `no answer within ${ms / 1000} s`, { retryable: true }))
  })
  try {
    return await Promise.race([work(AbortSignal.any([signal, late.signal])), promise])
  } finally {
    cancel()
  }
}
