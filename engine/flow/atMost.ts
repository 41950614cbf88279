import type { Clock } from '../ports/clock.ts'

/** What the promise gives, or null when it takes longer than `ms`; then nobody looks at its end any more. */
export async function atMost<T>(work: Promise<T>, ms: number, clock: Clock): Promise<T | null> {
  const { promise, resolve } = Promise.withResolvers<null>()
  const cancel = clock.after(ms, () => resolve(null))
  return await Promise.race([work, promise]).finally(cancel)
}
