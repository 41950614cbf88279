import { Buffer } from 'node:buffer'
import type { Codec } from './codec.ts'
import type { Crc } from './crc.ts'
import { at, type CodecName, codecs, headerBytes, lengthOverheadBytes, transactional } from './header.ts'
import type { KafkaRecord } from './records.ts'
import { pushSmall, pushVarint } from './varint.ts'

export type EncodeHow = { codec: CodecName; transactional: boolean }

/**
 * A batch of these records as a producer would write it: base offset 0, offsets dense, base time = the first
 * record's (M-35), create time, no producer. At least one record.
 */
export function encode(records: Omit<KafkaRecord, 'offset'>[], how: EncodeHow, codec: Codec, crc: Crc): Buffer {
  const first = records[0]
  if (!first) throw new RangeError('a batch needs a record')
  const section = codec.compress(
    how.codec,
    Buffer.concat(records.flatMap((r, i) => recordParts(r, i, first.timestamp))),
  )
  let newest = first.timestamp
  for (const record of records) if (record.timestamp > newest) newest = record.timestamp
  const batch = Buffer.alloc(headerBytes + section.length)
  batch.writeInt32BE(batch.length - lengthOverheadBytes, at.batchLength)
  batch.writeInt32BE(-1, at.partitionLeaderEpoch)
  batch.writeInt8(2, at.magic)
  batch.writeInt16BE(codecs.indexOf(how.codec) | (how.transactional ? transactional : 0), at.attributes)
  batch.writeInt32BE(records.length - 1, at.lastOffsetDelta)
  batch.writeBigInt64BE(first.timestamp, at.baseTimestamp)
  batch.writeBigInt64BE(newest, at.maxTimestamp)
  batch.writeBigInt64BE(-1n, at.producerId)
  batch.writeInt16BE(-1, at.producerEpoch)
  batch.writeInt32BE(-1, at.baseSequence)
  batch.writeInt32BE(records.length, at.recordsCount)
  section.copy(batch, headerBytes)
  batch.writeUInt32BE(crc(batch.subarray(at.attributes)), at.crc)
  return batch
}

function recordParts(record: Omit<KafkaRecord, 'offset'>, index: number, baseTimestamp: bigint): Buffer[] {
  const parts: Buffer[] = []
  let small: number[] = [0]
  const sized = (bytes: Buffer | null) => {
    pushSmall(small, bytes === null ? -1 : bytes.length)
    if (bytes === null || bytes.length === 0) return
    parts.push(Buffer.from(small), bytes)
    small = []
  }
  // Times further apart than 64 bits wrap, and come back when they are read.
  pushVarint(small, BigInt.asIntN(64, record.timestamp - baseTimestamp))
  pushSmall(small, index)
  sized(record.key)
  sized(record.value)
  pushSmall(small, record.headers.length)
  for (const header of record.headers) {
    sized(header.name)
    sized(header.value)
  }
  parts.push(Buffer.from(small))
  const length: number[] = []
  pushSmall(
    length,
    parts.reduce((sum, part) => sum + part.length, 0),
  )
  return [Buffer.from(length), ...parts]
}
