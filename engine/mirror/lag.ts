import { checkpointOf } from '../flow/window.ts'
import type { Unit } from './run.ts'

/** LSO − checkpoint; never negative, for the log may have moved since the last answer. */
export function lagOf(unit: Unit): number | null {
  const { lastStable } = unit.counts
  if (lastStable === null) return null
  const lag = Number(lastStable - checkpointOf(unit.window))
  return Math.max(0, lag)
}

/** How old the newest copied record is while there is more to copy; null = not known. */
export function lagSecondsOf(unit: Unit, lag: number, wallMs: number): number | null {
  if (lag === 0) return 0
  const { newestMs } = unit.counts
  return newestMs === null ? null : Math.max(0, Math.round((wallMs - newestMs) / 1000))
}
