import { hash } from 'node:crypto'
import type { Codec } from '../batch/codec.ts'
import type { KafkaRecord } from '../batch/records.ts'
import { type Fault, faultOf } from '../errors.ts'
import { verifyKeysMax, verifyLookAheadRecordsMax } from '../limits.ts'
import type { Clock } from '../ports/clock.ts'
import type { BatchSource, KafkaCluster, Part } from '../ports/kafka.ts'
import { compareKeys, endPass, type SeenKey, takeDestinationKeys, takeSourceKeys } from './decide/compareKeys.ts'
import {
  compareStreams,
  emptyTally,
  endDestination,
  endSource,
  type SeenRecord,
  type Tally,
  takeDestination,
  takeSource,
  type Verdict,
  verdictOf,
  wants,
} from './decide/compareStreams.ts'
import { digestRecord } from './digest.ts'
import { type RecordReader, readRecords } from './recordReader.ts'
import type { Naming } from './spec.ts'
import { type VerifyRange, verifyRanges } from './verifyRanges.ts'

/** MIRROR §3.6; `fault` = why it is unfinished, null also when the command was only stopped. */
export type Verified = Part & {
  sourceFrom: bigint
  sourceTo: bigint
  tally: Tally
  verdict: Verdict | 'unfinished'
  fault: Fault | null
}

export type VerifyProgress = {
  part: Part
  partitionsDone: number
  partitions: number
  /** Records read so far, of both sides and all partitions. */
  records: number
}

export type VerifyHow = {
  source: KafkaCluster
  destination: KafkaCluster
  /** By their names at the source, and how they are called at the destination. */
  topics: string[]
  naming: Naming
  /** The flow's group on the source: where its checkpoints are. */
  group: string
  /** Source offset to begin at, where it is above the log start. */
  sinceOffset: bigint | null
  codec: Codec
  clock: Clock
  progress: (at: VerifyProgress) => void
}

/**
 * M-101 `--deep`: both sides of every partition are read and their records compared, one partition after another; at
 * any time the memory is that of two streams and of the look-ahead. Nothing is written. Rejects with a MillraceError
 * when the clusters cannot be asked; a partition that cannot be read to its end is `unfinished`, the others go on.
 */
export async function verify(how: VerifyHow, signal: AbortSignal): Promise<Verified[]> {
  const ranges = await verifyRanges(how, signal)
  const source = how.source.source({ isolation: 'read_committed', rack: null })
  const destination = how.destination.source({ isolation: 'read_committed', rack: null })
  const done: Verified[] = []
  let records = 0
  for (const range of ranges) {
    const part = { topic: range.topic, partition: range.partition }
    const tell = (more: number) => {
      records += more
      how.progress({ part, partitionsDone: done.length, partitions: ranges.length, records })
    }
    const tally = emptyTally()
    const one: Verified = {
      ...part,
      sourceFrom: range.sourceFrom,
      sourceTo: range.sourceTo,
      tally,
      verdict: 'unfinished',
      fault: null,
    }
    try {
      const read = { range, source, destination, codec: how.codec, clock: how.clock, signal, tell }
      if (range.compacted) await compareLastValues(read, tally)
      else await compareRecords(read, tally)
      one.verdict = verdictOf(tally)
    } catch (error) {
      if (!signal.aborted) one.fault = faultOf(error, 'kafka-unreachable')
    }
    done.push(one)
    tell(0)
  }
  return done
}

type Read = {
  range: VerifyRange
  source: BatchSource
  destination: BatchSource
  codec: Codec
  clock: Clock
  signal: AbortSignal
  tell: (records: number) => void
}

async function compareRecords(read: Read, tally: Tally): Promise<void> {
  const { range } = read
  const { sourceTo, sourceStart, destinationStart } = range
  const bounds = { sourceTo, sourceStart, destinationStart, lookAheadRecords: verifyLookAheadRecordsMax }
  const comparison = compareStreams(bounds, tally)
  const sides = openSides(read, seenRecord)
  try {
    for (let want = wants(comparison); want !== 'nothing'; want = wants(comparison)) {
      const answer = await sides[want].next(read.signal)
      if (want === 'source') {
        if (answer) takeSource(comparison, answer.seen, answer.position)
        else endSource(comparison)
      } else if (answer) takeDestination(comparison, answer.seen)
      else endDestination(comparison)
      read.tell(answer?.seen.length ?? 0)
    }
  } finally {
    sides.source.close()
    sides.destination.close()
  }
}

async function compareLastValues(read: Read, tally: Tally): Promise<void> {
  const { sourceTo, destinationStart } = read.range
  const comparison = compareKeys({ sourceTo, destinationStart, keysMax: verifyKeysMax }, tally)
  do {
    const sides = openSides(read, seenKey)
    try {
      for (const side of ['source', 'destination'] as const) {
        const take = side === 'source' ? takeSourceKeys : takeDestinationKeys
        for (let answer = await sides[side].next(read.signal); answer; answer = await sides[side].next(read.signal)) {
          take(comparison, answer.seen)
          read.tell(answer.seen.length)
        }
      }
    } finally {
      sides.source.close()
      sides.destination.close()
    }
  } while (endPass(comparison))
}

function openSides<T>(
  { range, source, destination, codec, clock }: Read,
  see: (record: KafkaRecord) => T,
): { source: RecordReader<T>; destination: RecordReader<T> } {
  const { partition } = range
  const side = (of: BatchSource, topic: string, topicId: string, from: bigint, to: bigint) =>
    readRecords({ source: of, part: { topic, partition, topicId }, from, to, codec, clock, see })
  return {
    source: side(source, range.topic, range.sourceTopicId, range.sourceFrom, range.sourceEnd),
    destination: side(
      destination,
      range.destination,
      range.destinationTopicId,
      range.destinationStart,
      range.destinationEnd,
    ),
  }
}

function seenRecord(record: KafkaRecord): SeenRecord {
  return { offset: record.offset, digest: digestRecord(record).toString('latin1') }
}

/** Compaction removes records without a key as it removes tombstones: a side may have them or not. */
function seenKey(record: KafkaRecord): SeenKey {
  const { offset, key, value } = record
  if (key === null) return { offset, key: 'none', digest: null }
  const digest = value === null ? null : digestRecord(record).toString('latin1')
  return { offset, key: hash('sha256', key, 'binary'), digest }
}
