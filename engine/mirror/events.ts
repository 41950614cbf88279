import type { PartitionState } from '../flow/states.ts'

/**
 * What happened and may want somebody's eye (M-94): a line of the command, a log line. `code` is a fault code, or the
 * code of the trouble that a state comes from. Offsets are decimal where they say `from`, `to`, `offset`.
 */
export type MirrorEvent = {
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

export type Tell = (event: MirrorEvent) => void
