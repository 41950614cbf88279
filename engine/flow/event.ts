import type { PartitionState } from './states.ts'

/**
 * What happened in a flow and may want somebody's eye (M-94): a line of the command, a log line. `code` is a fault
 * code, or the code of the trouble that a state comes from. Offsets are decimal where they say `from`, `to`, `offset`.
 */
export type FlowEvent = {
  code: string
  message: string
  hint?: string | null
  topic?: string
  partition?: number
  state?: PartitionState
  /** How many partitions it concerns, when more than one may. */
  partitions?: number
  offset?: bigint
  from?: bigint
  to?: bigint
  oldId?: string
  newId?: string
}

export type Tell = (event: FlowEvent) => void
