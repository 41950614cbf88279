import { codec, crc32c } from '../engine/adapters/kafka/native.ts'
import { encode } from '../engine/batch/encode.ts'
import { type CodecName, codecs, readHeader } from '../engine/batch/header.ts'
import type { Clock } from '../engine/ports/clock.ts'
import type { Batch, KafkaCluster, Part } from '../engine/ports/kafka.ts'
import { compactionAgainMs } from './limits.ts'
import { readLog } from './readLog.ts'
import { between, seeded } from './seeded.ts'
import { writeTransactions } from './transactions.ts'
import { type SampleRecord, variedRecord } from './variedRecord.ts'

/** `timeMs`: time of the first record, ms since 1970; the others follow it. */
export type SampleHow = { seed: number | string; timeMs: number }

export type PlainHow = SampleHow & {
  batches: number
  recordsPerBatch: number
  codec: CodecName
  /** From, to; default 20 … 400. */
  valueBytes?: [number, number]
}

/** Varied records in batches of exactly `recordsPerBatch`. */
export async function writePlain(cluster: KafkaCluster, to: Part, how: PlainHow, signal: AbortSignal): Promise<void> {
  const chance = seeded(`${how.seed} ${to.topic}/${to.partition}`)
  const varied = { timeMs: how.timeMs, valueBytes: how.valueBytes ?? [20, 400] } as const
  function* batches() {
    for (let n = 0; n < how.batches; n++) {
      const first = n * how.recordsPerBatch
      const made = Array.from({ length: how.recordsPerBatch }, (_, i) =>
        variedRecord(chance, first + i, { ...varied, valueBytes: [...varied.valueBytes] }),
      )
      yield sampleBatch(made, how.codec)
    }
  }
  await send(cluster, to, batches(), signal)
}

/** One batch of these records, outside of any memory account (W-72). */
export function sampleBatch(records: SampleRecord[], codecName: CodecName): Batch {
  const bytes = encode(records, { codec: codecName, transactional: false }, codec, crc32c)
  return { header: readHeader(bytes), bytes, tailCrc: null, retain() {}, release() {} }
}

const sendAtOnce = 200

/** Sends batches in their order and waits for the acknowledgement of all; rejects when one is refused. */
export async function send(
  cluster: KafkaCluster,
  to: Part,
  batches: Iterable<Batch>,
  signal: AbortSignal,
): Promise<void> {
  const refused = new AbortController()
  const lane = cluster.sink.open<null>(
    { ...to, topicId: '' },
    () => true,
    outcome => {
      if (outcome.is === 'acked') return
      refused.abort(new Error(`${to.topic}/${to.partition}: a sample was ${outcome.is}, Kafka's error ${outcome.code}`))
    },
  )
  const until = AbortSignal.any([signal, refused.signal])
  let queued = 0
  try {
    for (const batch of batches) {
      lane.send(batch, null)
      if (++queued % sendAtOnce === 0) await lane.idle(until)
    }
    await lane.idle(until)
  } finally {
    lane.close(true)
  }
}

export type CompactedHow = SampleHow & { keys: number; rounds: number; recordsPerBatch: number }

/** Settings with which the rig's brokers compact within a second. */
const compactedConfigs = {
  'cleanup.policy': 'compact',
  'segment.ms': '100',
  'min.cleanable.dirty.ratio': '0.01',
}

/**
 * A compacted topic with holes inside its batches: the keys 1 … `keys` are written `rounds` times each, in no order,
 * and the call waits until less than twice as many records as keys are left. Gives how many are.
 */
export async function makeCompacted(
  cluster: KafkaCluster,
  topic: string,
  how: CompactedHow,
  clock: Clock,
  signal: AbortSignal,
): Promise<{ records: number }> {
  await cluster.admin.createTopic(topic, 1, { configs: compactedConfigs })
  const part = { topic, partition: 0 }
  const chance = seeded(`${how.seed} ${topic}`)
  // Segments roll by the records' times: no wait is needed for them to be old enough.
  const segmentMs = 1_000
  const order = Array.from({ length: how.keys * how.rounds }, (_, n) => 1 + (n % how.keys))
  const times = new Map<number, number>()
  const records = shuffled(order, chance).map((key, i) => {
    const time = (times.get(key) ?? 0) + 1
    times.set(key, time)
    return keyed(key, time, how.timeMs + Math.floor(i / how.keys) * segmentMs)
  })
  const batches: Batch[] = []
  for (let from = 0; from < records.length; from += how.recordsPerBatch)
    batches.push(sampleBatch(records.slice(from, from + how.recordsPerBatch), 'lz4'))
  // The active segment is never cleaned: one record more closes the last full one.
  batches.push(sampleBatch([keyed(1, how.rounds, how.timeMs + how.rounds * segmentMs)], 'none'))
  await send(cluster, part, batches, signal)
  for (;;) {
    const records = await storedRecords(cluster, part, signal)
    if (records < 2 * how.keys) return { records }
    await new Promise<void>(resolve => clock.after(compactionAgainMs, resolve))
    signal.throwIfAborted()
  }
}

function keyed(key: number, time: number, timeMs: number): SampleRecord {
  const value = Buffer.from(`key ${key} for time number ${time} `.repeat(4))
  return { timestamp: BigInt(timeMs), key: Buffer.from(`${key}`), value, headers: [] }
}

function shuffled<T>(items: T[], chance: () => number): T[] {
  for (let i = items.length - 1; i > 0; i--) {
    const j = between(chance, 0, i)
    const item = items[i] as T
    items[i] = items[j] as T
    items[j] = item
  }
  return items
}

async function storedRecords(cluster: KafkaCluster, part: Part, signal: AbortSignal): Promise<number> {
  const log = await readLog(cluster, part, signal)
  return log.reduce((sum, { header }) => sum + header.recordsCount, 0)
}

export type SamplesHow = SampleHow & {
  /** All topics are named `<prefix>-<what>`. */
  prefix: string
  partitions: number
  /** In each partition of the plain topics; batches of 100. */
  recordsPerPartition: number
  valueBytes?: [number, number]
}
/** `configs`: what is set on the topic. */
export type SampleTopic = { topic: string; partitions: number; configs: Record<string, string> }

export type SamplePlace = { cluster: KafkaCluster; bootstrap: string; clock: Clock }

/**
 * One topic of each kind: those of `writePlainSamples`, one with append time, one with committed and aborted
 * transactions of two producers, one that is really compacted. The cluster must be one of the rig's.
 */
export async function writeSamples(at: SamplePlace, how: SamplesHow, signal: AbortSignal): Promise<SampleTopic[]> {
  const { cluster, clock, bootstrap } = at
  const written = await writePlainSamples(cluster, how, signal)
  written.push(await plainTopic(cluster, 'append-time', { codec: 'lz4', configs: appendTimeConfigs }, how, signal))
  const transactions = `${how.prefix}-transactions`
  await cluster.admin.createTopic(transactions, 1)
  await writeTransactions(bootstrap, { topic: transactions, partition: 0 }, { ...how, ...manyTransactions })
  written.push({ topic: transactions, partitions: 1, configs: {} })
  const compacted = `${how.prefix}-compacted`
  await makeCompacted(cluster, compacted, { ...how, ...manyKeys }, clock, signal)
  written.push({ topic: compacted, partitions: 1, configs: compactedConfigs })
  return written
}

/** One topic a codec; for any cluster. */
export async function writePlainSamples(
  cluster: KafkaCluster,
  how: SamplesHow,
  signal: AbortSignal,
): Promise<SampleTopic[]> {
  const written: SampleTopic[] = []
  for (const name of codecs) written.push(await plainTopic(cluster, name, { codec: name, configs: {} }, how, signal))
  return written
}

async function plainTopic(
  cluster: KafkaCluster,
  name: string,
  { codec, configs }: { codec: CodecName; configs: Record<string, string> },
  how: SamplesHow,
  signal: AbortSignal,
): Promise<SampleTopic> {
  const topic = `${how.prefix}-${name}`
  await cluster.admin.createTopic(topic, how.partitions, { configs })
  const recordsPerBatch = 100
  const plain = { ...how, codec, recordsPerBatch, batches: Math.ceil(how.recordsPerPartition / recordsPerBatch) }
  const parts = Array.from({ length: how.partitions }, (_, partition) => ({ topic, partition }))
  await Promise.all(parts.map(part => writePlain(cluster, part, plain, signal)))
  return { topic, partitions: how.partitions, configs }
}

const appendTimeConfigs = { 'message.timestamp.type': 'LogAppendTime' }
const manyTransactions = { committed: 10, aborted: 5, recordsPerTransaction: 100 }
const manyKeys = { keys: 1_000, rounds: 5, recordsPerBatch: 100 }
