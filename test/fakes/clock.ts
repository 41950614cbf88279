import type { Clock } from '../../engine/ports/clock.ts'
import { pop, push } from './timerHeap.ts'

/** A clock that stands still until it is told to go on (STYLE 7). */
export type ManualClock = Clock & {
  /** Runs what is due within `ms`, in order of time; promises settle after each timer. */
  advance(ms: number): Promise<void>
  /** Goes on from timer to timer until `condition` holds; throws when it does not within `msMax`. */
  until(condition: () => boolean, msMax?: number): Promise<void>
  /** Lets what has been promised happen, without any time passing. */
  settle(): Promise<void>
}

type Timer = { atMs: number; order: number; run: (() => void) | null }

const wallAtStartMs = 1_700_000_000_000

export function manualClock(): ManualClock {
  let nowMs = 0
  let order = 0
  const heap: Timer[] = []

  /** Runs the next timer that is due at `atMs`; false when there is none. */
  const runNext = (atMs: number): boolean => {
    for (let first = heap[0]; first && first.atMs <= atMs; first = heap[0]) {
      pop(heap)
      if (!first.run) continue
      nowMs = Math.max(nowMs, first.atMs)
      first.run()
      return true
    }
    return false
  }

  const clock: ManualClock = {
    nowMs: () => nowMs,
    wallMs: () => wallAtStartMs + nowMs,
    after(ms, then) {
      const timer: Timer = { atMs: nowMs + Math.max(0, ms), order: order++, run: then }
      push(heap, timer)
      return () => {
        timer.run = null
      }
    },
    async advance(ms) {
      const target = nowMs + ms
      await clock.settle()
      while (runNext(target)) await clock.settle()
      nowMs = target
    },
    async until(condition, msMax = 600_000) {
      const target = nowMs + msMax
      await clock.settle()
      while (!condition()) {
        if (!runNext(target)) throw new Error(`what was waited for did not come within ${msMax} ms`)
        await clock.settle()
      }
    },
    // A turn of the event loop comes after every promise that is settled, however long the chain.
    settle: () => new Promise(resolve => setImmediate(resolve)),
  }
  return clock
}
