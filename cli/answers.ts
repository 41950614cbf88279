import type { Fault } from '../engine/errors.ts'

/** What the API answers, as far as commands read it (`/openapi.json` has the whole). An offset above 2^53 is a text. */
export type Offset = number | string
export type Changed = { atMs: number; by: string }
type At = { epoch: number; generation: number }

export type Frame = { leader: string | null; epoch: number | null; asOf: string }

export type FlowSummary = {
  flow: string
  etag: string
  kind: string
  origin: string
  changedBy: Changed
  deleting: boolean
  hasLeftFile: boolean
  paused: 'all' | 'some' | 'none'
  wanted: number | null
  assigned: number | null
  held: number | null
  silent: number | null
  inError: number | null
  inTransit: number | null
  unplacedCount: number | null
  unplaced: readonly { unit: string; why: string }[]
  oldestUnheldMs: number | null
  fault: Fault | null
  nextTryMs: number | null
  warnings: readonly Fault[]
}
export type Unreadable = { flow: string; fault: Fault }

export type Overlay = {
  topics: Record<string, 'in' | 'out'>
  paused: Record<string, string>
  skips: Record<string, Record<string, readonly [Offset, number]>>
}

export type TopicReport = {
  topic: string
  destination: string
  partitions: number
  /** Null: nobody counts. */
  records: number | null
  bytes: number | null
  lagRecords: Offset | null
  gapRecords: number | null
  skippedRecords: number | null
  state: string
}

export type Flow = FlowSummary & {
  spec: Record<string, unknown>
  overlay: Overlay
  report: {
    topics: readonly TopicReport[]
    partitions: number
    notRunning: number
    lagRecords: Offset | null
    lagSeconds: number | null
    records: number | null
    bytes: number | null
    gapRecords: number | null
    skippedRecords: number | null
  } | null
  aside: readonly { action: string; fault: Fault }[]
  events: readonly FlowHeard[]
}

export type FlowHeard = Fault & {
  at: string
  topic: string | null
  partition: number | null
  worker: string | null
}

export type Topic = { topic: string; overlay: 'in' | 'out' | null; paused: string | null; report: TopicReport | null }

export type OffsetRow = {
  topic: string
  partition: number
  checkpoint: Offset | null
  logStart: Offset | null
  lastStable: Offset | null
  highWatermark: Offset | null
  lagRecords: Offset | null
}

/** `state` null: the fleet does not know it. */
export type PartitionRow = {
  topic: string
  partition: number
  state: string | null
  reason: string | null
  code: string | null
  offset: string | null
  worker: string | null
  lagRecords: Offset | null
  bytesPerSecond: number | null
}

export type Partition = Omit<OffsetRow, never> & {
  flow: string
  destination: { topic: string; partition: number } | null
  state: string
  reason: string | null
  since: string | null
  worker: string | null
  lagSeconds: number | null
  bytesPerSecond: number | null
  error: (Fault & { offset: string | null }) | null
  why?: {
    owner: string | null
    inTransit: { from: string; ms: number } | null
    intent: string | null
    wish: string | null
    unplaced: string | null
    weight: number | null
    lease: { beatAgeMs: number; leaseMs: number; state: string; wanted: At | null; applied: At | null } | null
    nextTryMs: number | null
    flowFault: Fault | null
    brokers: Fault | null
  }
}

export type Worker = {
  id: string
  record: {
    address: string | null
    capacity: number
    leaseMs: number
    revision: string
    software: string
    startedAtMs: number
    state: string
    tags: readonly string[]
    task: string
    unitsMax: number
  } | null
  unreadable: Fault | null
  state: string | null
  silent: boolean | null
  heldState: string | null
  beatAgeMs: number | null
  wanted: At | null
  applied: At | null
  units: number | null
  held: number
  load: number | null
  share: number | null
  drain: (Changed & { reason: string }) | null
  /** Drained, and nothing is left on it. */
  released: boolean | null
  quarantineMs: number | null
  errors: readonly { unit: string; code: string; sinceMs: number; offset: string | null }[]
  /** Of one alone. */
  holds?: readonly string[]
}

type PlannedMove = { unit: string; from: string | null; to: string | null; weight: number | null }
export type Plan = {
  give: readonly PlannedMove[]
  withdraw: readonly PlannedMove[]
  unplaced: readonly { unit: string; why: string }[]
  why: string
  more: boolean
  loads: readonly { worker: string; load: number }[]
}
