import { checkpointOf } from '../flow/window.ts'
import type { Unit } from './run.ts'

/** Since when a unit stands, and by what (M-93); times on the monotonic clock, null = it does not. */
export type Standing = {
  checkpoint: bigint
  lastStable: bigint | null
  /** The last stable offset is below the end, and still: an open transaction at the source. */
  heldSinceMs: number | null
  /** There is more to copy, and the checkpoint does not move. */
  stillSinceMs: number | null
}

export function notStanding(): Standing {
  return { checkpoint: -1n, lastStable: null, heldSinceMs: null, stillSinceMs: null }
}

/** A unit that begins again has not stood while it did not run. */
export function standsNoLonger(unit: Unit): void {
  Object.assign(unit.standing, notStanding())
}

/** Called each second of a unit that runs. */
export function noteStanding(unit: Unit, nowMs: number): void {
  const { standing, counts } = unit
  const checkpoint = checkpointOf(unit.window)
  const { lastStable, end } = counts
  const isHeld = lastStable !== null && end !== null && lastStable < end
  const isStill = lastStable !== null && checkpoint < lastStable
  // What has moved since the last look stands from now on.
  const heldSinceMs = standing.lastStable === lastStable ? standing.heldSinceMs : null
  const stillSinceMs = standing.checkpoint === checkpoint ? standing.stillSinceMs : null
  standing.heldSinceMs = isHeld ? (heldSinceMs ?? nowMs) : null
  standing.stillSinceMs = isStill ? (stillSinceMs ?? nowMs) : null
  standing.lastStable = lastStable
  standing.checkpoint = checkpoint
}
