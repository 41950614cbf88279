import type { PartitionState } from './states.ts'

/** What a flow shows of itself (M-96, MIRROR §3.5). */
export type TopicReport = {
  topic: string
  destination: string
  partitions: number
  records: number
  bytes: number
  /** Null: of no partition known. */
  lagRecords: number | null
  gapRecords: number
  skippedRecords: number
  state: PartitionState
}

/** What a flow does as it was told to, and somebody should know. */
export type Warning = { code: string; message: string; hint: string | null }

export type FlowReport = {
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
  records: number
  bytes: number
  gapRecords: number
  skippedRecords: number
}
