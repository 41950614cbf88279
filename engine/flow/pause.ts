import type { Clock } from '../ports/clock.ts'

/** Ends after `ms`, or at once when the signal says so; never rejects. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) return resolve()
    const ended = () => {
      cancel()
      signal.removeEventListener('abort', ended)
      resolve()
    }
    const cancel = clock.after(ms, ended)
    signal.addEventListener('abort', ended)
    return undefined
  })
}
