import type { Buffer } from 'node:buffer'
import type { Codec } from './codec.ts'
import { codecMask, codecOf, type Header, headerBytes, logAppendTime } from './header.ts'
import { VarintReader } from './varint.ts'

/** Names and values are bytes as the producer wrote them: order, doubles, null and empty kept (M-35). */
export type RecordHeader = { name: Buffer; value: Buffer | null }
export type KafkaRecord = {
  offset: bigint
  timestamp: bigint
  key: Buffer | null
  value: Buffer | null
  headers: RecordHeader[]
}

/**
 * Opens a batch. Under LogAppendTime all records carry the batch's greatest time (M-30 row 7). Throws RangeError where
 * the section is not what the header says, as Kafka's own consumer does, and what the codec throws.
 */
export function records(batch: { header: Header; bytes: Buffer }, codec: Codec): KafkaRecord[] {
  const { header } = batch
  const name = codecOf(header.attributes)
  if (name === null) throw new RangeError(`codec ${header.attributes & codecMask} is not known`)
  if (header.recordsCount < 0) throw new RangeError(`a batch of ${header.recordsCount} records`)
  const r = new VarintReader(codec.decompress(name, batch.bytes.subarray(headerBytes)), 0)
  const found: KafkaRecord[] = []
  for (let i = 0; i < header.recordsCount; i++) found.push(record(r, header))
  if (r.at !== r.bytes.length) throw new RangeError(`bytes are left after the last record at byte ${r.at}`)
  return found
}

function record(r: VarintReader, header: Header): KafkaRecord {
  const length = r.int()
  const end = r.at + length
  r.skip(1)
  const timestamp = BigInt.asIntN(64, header.baseTimestamp + r.long())
  const offset = header.baseOffset + BigInt(r.int())
  const key = r.sized()
  const value = r.sized()
  const headers: RecordHeader[] = []
  for (let n = r.int(); n > 0; n--) headers.push({ name: named(r.sized()), value: r.sized() })
  // Also keeps a length that leads backwards from being read for ever.
  if (r.at !== end) throw new RangeError(`a record of ${length} bytes does not end at byte ${r.at}`)
  return { offset, timestamp: header.attributes & logAppendTime ? header.maxTimestamp : timestamp, key, value, headers }
}

function named(name: Buffer | null): Buffer {
  if (name === null) throw new RangeError('a record header has no name')
  return name
}
