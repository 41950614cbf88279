import { Buffer } from 'node:buffer'
import type { Codec } from '../batch/codec.ts'
import type { Crc } from '../batch/crc.ts'
import { encode } from '../batch/encode.ts'
import { readHeader } from '../batch/header.ts'
import type { KafkaRecord } from '../batch/records.ts'
import { faultCodes, MillraceError } from '../errors.ts'
import { missingRight } from '../flow/missingRight.ts'
import { otherTopic } from '../flow/position.ts'
import { unlessAborted } from '../flow/unlessAborted.ts'
import { clusterUnreachableMs, provenanceBatchBytesMax, provenanceSilenceMs } from '../limits.ts'
import type { Clock } from '../ports/clock.ts'
import type {
  Batch,
  BatchSource,
  ClusterAdmin,
  ClusterView,
  KafkaCluster,
  Lane,
  Outcome,
  Part,
  TopicId,
  TopicView,
} from '../ports/kafka.ts'
import {
  type Provenance,
  type ProvenanceSeen,
  provenanceFrom,
  provenanceKey,
  provenanceText,
} from './decide/provenance.ts'
import { readRecords } from './recordReader.ts'

const prefix = 'millrace.mirror.'

/** The topic at the destination in which a flow writes down where its topics come from: one partition. */
export function provenanceTopicName(flow: string): string {
  return `${prefix}${flow}`
}

/** What it is created with (MIRROR §3.2, §3.3). */
export const provenanceTopicConfigs: Readonly<Record<string, string>> = {
  'cleanup.policy': 'compact',
  'segment.bytes': '16777216',
  'min.cleanable.dirty.ratio': '0.1',
}

/** What was read at a cluster, and how far: the next read goes on from there. */
export type ProvenanceRead = {
  /** By `recordName`: two flows may write of one topic. */
  records: ReadonlyMap<string, Provenance>
  /** By name of the provenance topic; `offset` = the next one. */
  positions: ReadonlyMap<string, { topicId: TopicId; offset: bigint }>
}

/** The record that `flow` has written of its destination topic `topic`; null = none. */
export function provenanceOf(read: ProvenanceRead, flow: string, topic: string): Provenance | null {
  return read.records.get(recordName(provenanceTopicName(flow), topic)) ?? null
}

/** No topic has a line feed in its name. */
function recordName(provenanceTopic: string, topic: string): string {
  return `${provenanceTopic}\n${topic}`
}

type ReadHow = { codec: Codec; clock: Clock; signal: AbortSignal }
/** `fresh`: nothing of what was read before counts. */
type Range = Part & { topicId: TopicId; from: bigint; to: bigint; fresh: boolean }

/**
 * Provenance as it stands now at a cluster (MIRROR M-21, §3.3): of all flows that write there, or of the provenance
 * topics named. `view` says which topics there are, so it is no older than what the caller waits to see. Last value
 * per key wins, a tombstone removes; of a topic made anew, or cut behind what was read, all is read again. When
 * nothing is new only ListOffsets is asked. Rejects with a MillraceError, which is retryable when the cluster does not
 * answer (at the latest after 40 s without an answer) or a topic changed meanwhile; with the signal's reason.
 */
export async function readProvenance(
  cluster: KafkaCluster,
  view: ClusterView,
  names: 'all' | string[],
  before: ProvenanceRead | null,
  how: ReadHow,
): Promise<ProvenanceRead> {
  const topics = provenanceTopics(view, names)
  const ranges = await rangesOf(cluster.admin, topics, before, how.signal)
  const source = cluster.source({ isolation: 'read_committed', rack: null })
  const failed = new AbortController()
  const signal = AbortSignal.any([how.signal, failed.signal])
  try {
    // All at once: one after another, each would wait for the long poll that the one before has left open.
    const news = await Promise.all(ranges.map(range => newsOf(source, range, { ...how, signal })))
    return joined(before, ranges, news)
  } catch (error) {
    failed.abort(error)
    throw error
  }
}

function provenanceTopics(view: ClusterView, names: 'all' | string[]): TopicView[] {
  const wanted = names === 'all' ? null : new Set(names)
  const asked = ({ topic }: TopicView) => (wanted === null ? topic.startsWith(prefix) : wanted.has(topic))
  const topics = view.topics.filter(topic => asked(topic) && topic.code !== unknownTopic)
  // A topic that is there and cannot be read may be the one that tells of a loop.
  const closed = topics.find(topic => topic.code !== 0)
  if (closed) throw unreadable(closed.topic, closed.code)
  return topics
}

const unknownTopic = 3
const topicNotAuthorized = 29

function unreadable(topic: string, kafka: number): MillraceError {
  const code = kafka === topicNotAuthorized ? 'kafka-not-authorized' : 'kafka-unreachable'
  const message = `the provenance in ${topic} cannot be read (Kafka's error ${kafka})`
  const hint = code === 'kafka-not-authorized' ? missingRight(`Read on topic ${topic}`) : null
  return new MillraceError(code, message, { retryable: true, kafka, hint })
}

/** The starts of logs are asked only where there is something to read. */
async function rangesOf(
  admin: ClusterAdmin,
  topics: TopicView[],
  before: ProvenanceRead | null,
  signal: AbortSignal,
): Promise<Range[]> {
  const ends = await offsetsOf(admin, topics, 'stable', signal)
  const read = topics.map(({ topic, topicId }) => {
    const at = before?.positions.get(topic)
    return at && !otherTopic(at.topicId, topicId) ? at.offset : null
  })
  const more = topics.filter((_, i) => read[i] !== ends[i])
  const found = await offsetsOf(admin, more, 'start', signal)
  const starts = new Map(more.map(({ topic }, i) => [topic, found[i]]))
  return topics.map(({ topic, topicId }, i) => {
    const [at = null, to = 0n] = [read[i], ends[i]]
    // Only what has more has a start: the others are read to their end.
    const start = starts.get(topic) ?? to
    const goesOn = at !== null && at >= start && at <= to
    return { topic, partition: 0, topicId, from: goesOn ? at : start, to, fresh: !goesOn }
  })
}

/** In the order of `topics`; of none nothing is asked. */
async function offsetsOf(
  admin: ClusterAdmin,
  topics: TopicView[],
  at: 'start' | 'stable',
  signal: AbortSignal,
): Promise<bigint[]> {
  signal.throwIfAborted()
  if (topics.length === 0) return []
  const parts = topics.map(({ topic }) => ({ topic, partition: 0 }))
  const found = await unlessAborted(admin.offsets(parts, at), signal)
  signal.throwIfAborted()
  const byTopic = new Map(found?.map(one => [one.topic, one]))
  return topics.map(({ topic }) => {
    const { offset, code } = byTopic.get(topic) ?? { offset: null, code: unknownTopic }
    if (offset === null) throw unreadable(topic, code)
    return offset
  })
}

/** What the records of the range say, in their order. */
async function newsOf(source: BatchSource, range: Range, how: ReadHow): Promise<ProvenanceSeen[]> {
  const { topic, partition, topicId, from, to } = range
  const { codec, clock, signal } = how
  const see = (record: KafkaRecord) => provenanceFrom(record.key, record.value)
  const reader = readRecords({ source, part: { topic, partition, topicId }, from, to, codec, clock, see })
  const news: ProvenanceSeen[] = []
  try {
    for (;;) {
      const silence = patience(clock, provenanceSilenceMs, () => `${topic}/0: nothing comes`)
      const answer = await reader.next(AbortSignal.any([signal, silence.signal])).finally(silence.end)
      if (answer === null) return news
      for (const seen of answer.seen) if (seen !== null) news.push(seen)
    }
  } catch (error) {
    throw atOnceAgain(error)
  } finally {
    reader.close()
  }
}

/** A log that was changed while it was read is looked at anew, from the view on: nobody has to decide anything. */
function atOnceAgain(error: unknown): unknown {
  if (!(error instanceof MillraceError) || error.retryable) return error
  if (error.code !== 'topic-recreated' && error.code !== 'source-gap' && error.code !== 'source-truncated') return error
  return new MillraceError(error.code, error.message, { retryable: true, cause: error })
}

function joined(before: ProvenanceRead | null, ranges: Range[], news: ProvenanceSeen[][]): ProvenanceRead {
  const kept = new Set(ranges.filter(range => !range.fresh).map(range => range.topic))
  const old = [...(before?.records ?? [])].filter(([name]) => kept.has(name.slice(0, name.indexOf('\n'))))
  const records = new Map(old)
  const positions = new Map<string, { topicId: TopicId; offset: bigint }>()
  for (const [i, { topic, topicId, to }] of ranges.entries()) {
    positions.set(topic, { topicId, offset: to })
    for (const seen of news[i] ?? []) {
      if (seen.provenance) records.set(recordName(topic, seen.topic), seen.provenance)
      else records.delete(recordName(topic, seen.topic))
    }
  }
  return { records, positions }
}

export type WriteHow = {
  /** Of the flow's provenance topic. */
  topicId: TopicId
  mayWrite: () => boolean
  codec: Codec
  crc: Crc
  clock: Clock
  signal: AbortSignal
}

/**
 * Writes what a flow knows of its destination topics (MIRROR §3.3), in batches of 900 KiB at most, one after another.
 * Ends when all in-sync replicas have all of it. Rejects with a MillraceError when a batch is refused, or not
 * acknowledged for 30 s (retryable; no trace of what was not written stays in the sink); with the signal's reason.
 * Records of batches before that are there: to write them again changes nothing.
 */
export async function writeProvenance(
  cluster: KafkaCluster,
  flow: string,
  records: readonly Provenance[],
  how: WriteHow,
): Promise<void> {
  how.signal.throwIfAborted()
  if (records.length === 0) return
  const topic = provenanceTopicName(flow)
  const refused = new AbortController()
  const note = (outcome: Outcome<null>) => {
    if (outcome.is !== 'acked') refused.abort(refusal(topic, outcome))
  }
  const lane = cluster.sink.open({ topic, partition: 0, topicId: how.topicId }, how.mayWrite, note)
  try {
    for (const some of pieces(records, how.clock.wallMs())) {
      lane.send(batchOf(some, how), null)
      await acknowledged(lane, topic, how.clock, AbortSignal.any([how.signal, refused.signal]))
    }
  } finally {
    lane.close(true)
  }
}

async function acknowledged(lane: Lane<null>, topic: string, clock: Clock, signal: AbortSignal): Promise<void> {
  const late = patience(clock, clusterUnreachableMs, () => `${topic}/0: provenance is not acknowledged`, {
    lane,
    topic,
  })
  await lane.idle(AbortSignal.any([signal, late.signal])).finally(late.end)
}

const damaged = 2
const otherTopicId = 100

function refusal(topic: string, outcome: Exclude<Outcome<null>, { is: 'acked' }>): MillraceError {
  const { code: kafka } = outcome
  const text = outcome.is === 'refused' && outcome.message !== null ? `: ${outcome.message}` : ''
  // The topic was made anew since the view, or the batch was damaged on its way: the next try may well pass.
  const retryable = kafka === otherTopicId || kafka === damaged
  const message = `${topic}/0: provenance is refused (Kafka's error ${kafka})${text}`
  return new MillraceError('batch-refused', message, { retryable, kafka })
}

/** A signal that aborts after `ms`, with the trouble of the lane, if it has one, as what was found. */
function patience(clock: Clock, ms: number, what: () => string, to: { lane: Lane<null>; topic: string } | null = null) {
  const over = new AbortController()
  const end = clock.after(ms, () => {
    const trouble = to?.lane.trouble() ?? null
    const code = faultCodes.find(known => known === trouble?.code) ?? 'kafka-unreachable'
    const message = `${what()} within ${ms} ms${trouble ? `: ${trouble.message}` : ''}`
    const hint = to && code === 'kafka-not-authorized' ? missingRight(`Write on topic ${to.topic}`) : null
    over.abort(new MillraceError(code, message, { retryable: true, kafka: trouble?.kafka ?? null, hint }))
  })
  return { signal: over.signal, end }
}

type Plain = Omit<KafkaRecord, 'offset'>

/** More than a record's lengths, deltas and counts take. */
const recordOverheadBytes = 32

function* pieces(records: readonly Provenance[], nowMs: number): Generator<Plain[]> {
  let piece: Plain[] = []
  let bytes = 0
  for (const one of records) {
    const key = Buffer.from(provenanceKey(one.topic))
    const value = Buffer.from(provenanceText(one))
    const more = key.length + value.length + recordOverheadBytes
    if (piece.length > 0 && bytes + more > provenanceBatchBytesMax - headerRoomBytes) {
      yield piece
      piece = []
      bytes = 0
    }
    piece.push({ timestamp: BigInt(nowMs), key, value, headers: [] })
    bytes += more
  }
  yield piece
}

const headerRoomBytes = 64

/** Made from nothing, so outside of the account: one at a time bounds it (W-72). Uncompressed, so that its size is known. */
function batchOf(records: Plain[], how: { codec: Codec; crc: Crc }): Batch {
  const bytes = encode(records, { codec: 'none', transactional: false }, how.codec, how.crc)
  return { header: readHeader(bytes), bytes, tailCrc: null, retain() {}, release() {} }
}
