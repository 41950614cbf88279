import type { PartitionState } from './states.ts'

/** What was done since the process began. Null: a leader runs no unit, so nobody counts for it. */
export type Counted = {
  records: number | null
  bytes: number | null
  gapRecords: number | null
  skippedRecords: number | null
}

/** What a flow shows of itself (M-96, MIRROR §3.5). */
export type TopicReport = Counted & {
  topic: string
  destination: string
  partitions: number
  /** Null: of no partition known. */
  lagRecords: number | null
  state: PartitionState
}

/** What a flow does as it was told to, and somebody should know. */
export type Warning = { code: string; message: string; hint: string | null }

export type FlowReport = Counted & {
  topics: TopicReport[]
  /** Absent: none. */
  warnings?: Warning[]
  partitions: number
  /** Partitions in any state but `running`. */
  notRunning: number
  /** Partitions whose lag is not known. */
  partitionsUnknown: number
  lagRecords: number | null
  lagSeconds: number | null
}
