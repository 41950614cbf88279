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

export type FlowReport = {
  topics: TopicReport[]
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
