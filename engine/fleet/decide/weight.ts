import { weightAverageMs } from '../../limits.ts'

/** A moving average over 120 s, rounded: `w + (x − w)(1 − e^(−dt/120 s))` (C-56). */
export function average(before: number, measured: number, elapsedMs: number): number {
  return Math.round(before + (measured - before) * (1 - Math.exp(-elapsedMs / weightAverageMs)))
}

/**
 * The weight that the planner sees: the measured one only when it is a quarter off the one in use, else small fleets
 * swap units under noise (C-56). `used` null: none yet.
 */
export function steadyWeight(used: number | null, measured: number): number {
  if (used === null) return measured
  return 4 * Math.abs(measured - used) > used ? measured : used
}
