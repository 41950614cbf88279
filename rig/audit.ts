import { Buffer } from 'node:buffer'
import { codec, crc32c } from '../engine/adapters/kafka/native.ts'
import { dropAborted } from '../engine/batch/aborted.ts'
import { encode } from '../engine/batch/encode.ts'
import { type CodecName, readHeader } from '../engine/batch/header.ts'
import { records } from '../engine/batch/records.ts'
import type { Batch, KafkaCluster, Part } from '../engine/ports/kafka.ts'

/** What an audit found in one partition (MIRROR §7): every record carries a dense sequence number. */
export type Audit = Part & {
  records: number
  lost: number
  repeated: number
  /** First occurrences that came after a higher one. */
  outOfOrder: number
  firstLost: number | null
}

const sequenceBytes = 8

/** A batch of `count` records with the numbers from `first` on; `valueBytes` ≥ 8. */
export function numberedBatch(
  first: number,
  count: number,
  how: { codec: CodecName; valueBytes: number; timestampMs: number },
): Batch {
  const made = Array.from({ length: count }, (_, i) => {
    const value = Buffer.alloc(Math.max(sequenceBytes, how.valueBytes), `${first + i} `)
    value.writeBigInt64BE(BigInt(first + i))
    return { timestamp: BigInt(how.timestampMs), key: null, value, headers: [] }
  })
  const bytes = encode(made, { codec: how.codec, transactional: false }, codec, crc32c)
  // Batches made from nothing are outside the memory account (W-72).
  return { header: readHeader(bytes), bytes, tailCrc: null, retain() {}, release() {} }
}

/** Reads partitions to their ends of now and checks that the numbers 0 … expected − 1 are there, first ones in order. */
export async function audit(
  cluster: KafkaCluster,
  topic: string,
  expected: readonly number[],
  signal: AbortSignal,
): Promise<Audit[]> {
  const view = (await cluster.admin.look([topic])).topics[0]
  if (view?.code !== 0) throw new Error(`topic ${topic} is not there`)
  const parts = expected.map((_, partition) => ({ topic, partition }))
  const ends = await cluster.admin.offsets(parts, 'stable')
  const starts = await cluster.admin.offsets(parts, 'start')
  return Promise.all(
    parts.map((part, i) =>
      auditPartition(
        cluster,
        { ...part, topicId: view.topicId },
        starts[i]?.offset ?? 0n,
        ends[i]?.offset ?? 0n,
        expected[i] ?? 0,
        signal,
      ),
    ),
  )
}

async function auditPartition(
  cluster: KafkaCluster,
  part: Part & { topicId: string },
  start: bigint,
  end: bigint,
  expected: number,
  signal: AbortSignal,
): Promise<Audit> {
  const seen = new Uint8Array(expected)
  const found: Audit = {
    topic: part.topic,
    partition: part.partition,
    records: 0,
    lost: 0,
    repeated: 0,
    outOfOrder: 0,
    firstLost: null,
  }
  const stream = cluster.source({ isolation: 'read_committed', rack: null }).open(part, { offset: start, epoch: -1 })
  let highest = -1
  for (let next = start; next < end; ) {
    const answer = await stream.next(signal)
    if (answer.is !== 'batches') throw new Error(`${part.topic}/${part.partition}: ${answer.is} during the audit`)
    const verdicts = dropAborted(answer.batches, answer.aborted)
    for (const [i, batch] of answer.batches.entries()) {
      next = batch.header.baseOffset + BigInt(batch.header.lastOffsetDelta) + 1n
      for (const record of verdicts[i] === 'keep' ? records(batch, codec) : []) {
        const number = Number(record.value?.readBigInt64BE(0) ?? -1n)
        found.records++
        if (number < 0 || number >= expected)
          throw new Error(`${part.topic}/${part.partition}@${record.offset}: number ${number}`)
        if (seen[number]) found.repeated++
        else if (number < highest) found.outOfOrder++
        seen[number] = 1
        highest = Math.max(highest, number)
      }
      batch.release()
    }
  }
  stream.close()
  for (let n = 0; n < expected; n++) if (!seen[n]) found.lost++
  const first = seen.indexOf(0)
  found.firstLost = first < 0 ? null : first
  return found
}
