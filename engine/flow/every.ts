import type { Clock } from '../ports/clock.ts'

/** Calls `act` each `ms`; gives the function that ends it. */
export function every(clock: Clock, ms: number, act: () => void): () => void {
  let cancel = clock.after(ms, tick)
  function tick(): void {
    cancel = clock.after(ms, tick)
    act()
  }
  return () => cancel()
}
