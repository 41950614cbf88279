import type { PartitionState } from '../../flow/states.ts'
import { blockedAfterMs, stalledAfterMs, troubleShownAfterMs } from '../../limits.ts'
import type { Trouble } from '../../ports/kafka.ts'

export type StateFacts = {
  /** The copy ended with a fault, and has not moved since. */
  failed: boolean
  stream: Trouble | null
  lane: Trouble | null
  /** Since when its checkpoint could not be stored. */
  commitSinceMs: number | null
  /** Since when an open transaction at the source holds the last stable offset below the end. */
  heldSinceMs: number | null
  /** Since when the checkpoint has stood although there is more to copy. */
  stillSinceMs: number | null
}

/** The state of a partition that is being copied: the first of M-93 that holds. */
export function partitionState(facts: StateFacts, nowMs: number): PartitionState {
  if (facts.failed) return 'error'
  const stream = shown(facts.stream, nowMs)
  const lane = shown(facts.lane, nowMs)
  if (stream?.code === 'source-missing' || lane?.code === 'destination-missing') return 'waiting'
  if (stream) return 'unavailable'
  if (lane) return 'degraded'
  if (facts.commitSinceMs !== null && nowMs - facts.commitSinceMs >= troubleShownAfterMs) return 'degraded'
  if (facts.heldSinceMs !== null && nowMs - facts.heldSinceMs >= blockedAfterMs) return 'blocked'
  if (facts.stillSinceMs !== null && nowMs - facts.stillSinceMs >= stalledAfterMs) return 'stalled'
  return 'running'
}

/** Trouble counts after a while: a leader that moves is none. */
export function shown(trouble: Trouble | null, nowMs: number): Trouble | null {
  return trouble && nowMs - trouble.sinceMs >= troubleShownAfterMs ? trouble : null
}
