import type { Header } from '../batch/header.ts'
import type { Fault } from '../errors.ts'

/**
 * What we need from Kafka, in our words (KAFKA-CLIENT §4). A unit sees streams and lanes; brokers, links, leaders,
 * retries, sequences and back-off are behind them. Offsets are bigint. Each `signal` ends its promise with the
 * signal's reason.
 */
export interface KafkaCluster {
  source(how: { isolation: Isolation; rack: string | null }): BatchSource
  sink: BatchSink
  checkpoints: CheckpointStore
  admin: ClusterAdmin
  /** The fence (W-70): every link with an unanswered Produce or commit request is reset at once, nothing is reported. */
  cut(): void
  close(): Promise<void>
}

export type Isolation = 'read_committed' | 'read_uncommitted'
export type Part = { topic: string; partition: number }
/** `epoch` = partitionLeaderEpoch of the batch before it, −1 = not known (W-43). */
export type Position = { offset: bigint; epoch: number }
/** A topic id is 16 bytes in URL-safe base64 (22 characters); `''` = not known, matches any (W-45, MIRROR §3.1). */
export type TopicId = string

export interface BatchSource {
  open(part: Part & { topicId: TopicId }, at: Position): Stream
}

/** W-71. */
export interface Stream {
  /**
   * Waits until there is something and gives the whole batches of one response, in order, unchanged, CRC right.
   * One call open at a time. After any answer but `batches` the stream stands until `seek` or `close`.
   * Each batch is given with one reference of the caller's: `release()` it when done.
   * Rejects only with the signal's reason.
   */
  next(signal: AbortSignal): Promise<Answer>
  /** A batch the flow built from this stream's; counts in its window and the memory account. One reference is the caller's. */
  made(bytes: Buffer): Batch
  /** Drops what is queued and goes on at `at`. */
  seek(at: Position): void
  trouble(): Trouble | null
  close(): void
}

export type Aborted = { producerId: bigint; firstOffset: bigint }
export type Answer =
  | { is: 'batches'; batches: Batch[]; aborted: Aborted[]; logStart: bigint; lastStable: bigint; end: bigint }
  | { is: 'out-of-range'; logStart: bigint; lastStable: bigint; end: bigint }
  | { is: 'diverged'; offset: bigint; epoch: number }
  | { is: 'recreated'; topicId: TopicId }
  | { is: 'corrupt'; offset: bigint; found: number; computed: number; bytes: Buffer }
  | { is: 'too-old'; offset: bigint; magic: number }

/** One record batch (magic 2) as bytes. `tailCrc` = CRC-32C of byte 57 to the end when `check` computed it (W-15). */
export interface Batch {
  header: Header
  bytes: Buffer
  tailCrc: number | null
  retain(): void
  /** The last release gives the memory back; one too many throws (W-32). */
  release(): void
}

export interface BatchSink {
  /**
   * `mayWrite` is the lease, asked in the very turn of the socket write (W-70). A topic of another id than `topicId`
   * is another topic: `refused` 100, nothing is written to it (W-45).
   */
  open<T>(to: Part & { topicId: TopicId }, mayWrite: () => boolean, onOutcome: (outcome: Outcome<T>) => void): Lane<T>
}

/** W-72, W-73. */
export interface Lane<T> {
  /** Queues, never waits. The lane retains the batch until its outcome; `tag` = the flow's note of what it acknowledges. */
  send(batch: Batch, tag: T): void
  /** After `refused`: these pieces take the refused batch's place; none = it is stepped over. */
  instead(pieces: [Batch, T][]): void
  /** Takes back every batch that was never written, but the oldest unanswered one; gives their tags in order of `send`. */
  recall(): T[]
  /** Ends when nothing is queued or unanswered. */
  idle(signal: AbortSignal): Promise<void>
  /** Whether a batch may have been taken, or be taken yet, of which nothing is reported; others a stop may give up. */
  inDoubt(): boolean
  trouble(): Trouble | null
  /** Forgets the queue; nothing is reported after it. `hard` also resets the links with unanswered batches (C-44). */
  close(hard: boolean): void
}

export type Outcome<T> =
  | { is: 'acked'; tag: T; baseOffset: bigint | null }
  | { is: 'refused'; tag: T; code: number; message: string | null; batchIndex: number | null }
  | { is: 'fenced'; code: number }

/** W-62, W-75. */
export interface CheckpointStore {
  /** Stable offsets only; no entry = none stored. */
  load(group: string, parts: Part[] | 'all', signal: AbortSignal): Promise<Entry[]>
  /** What was not stored, with the fault's code. Tries again until its signal. An empty group id throws. */
  save(
    group: string,
    entries: Entry[],
    mayWrite: () => boolean,
    signal: AbortSignal,
  ): Promise<{ part: Part; code: string }[]>
}
export type Entry = Part & { offset: bigint; epoch: number; metadata: string }

/** W-76: why a partition does not move, from its first failed try to the next good answer. */
export type Trouble = {
  code: string
  kafka: number | null
  message: string
  sinceMs: number
  tries: number
  nextTryMs: number
}

export type TopicView = {
  topic: string
  topicId: TopicId
  internal: boolean
  /** Kafka's error number of the topic, 0 = none. */
  code: number
  partitions: { partition: number; leader: number; leaderEpoch: number; code: number }[]
}
export type ClusterView = {
  clusterId: string
  brokers: { id: number; host: string; port: number; rack: string | null }[]
  topics: TopicView[]
}

/** One setting of a topic. `onTopic`: set on the topic itself, not inherited from the broker or a default. */
export type TopicConfig = { name: string; value: string | null; isDefault: boolean; onTopic: boolean }
export type ConfigChange = { topic: string; set: Record<string, string>; unset: string[] }

/** W-77. Every call rejects with a MillraceError after 30 s at the latest. To create what exists is success. */
export interface ClusterAdmin {
  look(topics: string[] | 'all'): Promise<ClusterView>
  /** Offsets at the start, the last stable offset, the high watermark, or the first at or after a time (null: none such). */
  offsets(
    parts: Part[],
    at: 'start' | 'stable' | 'end' | { timeMs: number },
  ): Promise<(Part & { offset: bigint | null; code: number })[]>
  createTopic(
    topic: string,
    partitions: number,
    more?: { replicas?: number; configs?: Record<string, string> },
  ): Promise<void>
  /** To `partitions` in all; to grow to what is there is success. Returns when the new ones have leaders. */
  growTopic(topic: string, partitions: number): Promise<void>
  topicConfigs(topics: string[]): Promise<Map<string, TopicConfig[]>>
  /** One IncrementalAlterConfigs for each topic (M-25). Gives the topics that were refused, and why. */
  alterTopicConfigs(changes: ConfigChange[]): Promise<{ topic: string; fault: Fault }[]>
}
