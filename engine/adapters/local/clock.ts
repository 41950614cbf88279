import type { Clock } from '../../ports/clock.ts'

/** The machine's own clocks. Timers do not keep the process alive: what must be waited for is a socket or a signal. */
export function machineClock(): Clock {
  return {
    nowMs: () => performance.now(),
    wallMs: () => Date.now(),
    after(ms, then) {
      const timer = setTimeout(then, ms)
      timer.unref()
      return () => clearTimeout(timer)
    },
  }
}
