/**
 * The state of a unit's partition, one closed list (DESIGN §3), shown alike in the API, the command and metrics.
 * `waiting`: topic, partition or credential is not there yet. `unavailable`: the source cannot be read now.
 * `degraded`: the destination, or the place of the checkpoints, does not take what we give. `blocked`: an open
 * transaction at the source. `stalled`: lag and no progress, none of the others. `error`: needs a decision.
 */
export const partitionStates = [
  'paused',
  'refused',
  'error',
  'waiting',
  'unavailable',
  'degraded',
  'blocked',
  'stalled',
  'running',
] as const

export type PartitionState = (typeof partitionStates)[number]

/** The state that a topic shows for its partitions: the one that stands first in the list. */
export function worst(states: Iterable<PartitionState>): PartitionState {
  let index = partitionStates.length - 1
  for (const state of states) index = Math.min(index, partitionStates.indexOf(state))
  return partitionStates[index] ?? 'running'
}
