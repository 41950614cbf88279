import { Buffer } from 'node:buffer'
import type { Codec } from './codec.ts'
import { codecOf, type Header, headerBytes, logAppendTime } from './header.ts'
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
 * Opens a batch. Under LogAppendTime all records carry the batch's greatest time (M-30 row 7). Throws RangeError
 * where the section ends early, and what the codec throws.
 */
export function records(batch: { header: Header; bytes: Buffer }, codec: Codec): KafkaRecord[] {
  const { header } = batch
  const name = codecOf(header.attributes)
  if (name === null) throw new RangeError(`codec ${header.attributes & 7} is not known`)
  const section = codec.decompress(name, batch.bytes.subarray(headerBytes))
  const r = new VarintReader(section, 0)
  const appended = (header.attributes & logAppendTime) !== 0
  const found: KafkaRecord[] = []
  for (let i = 0; i < header.recordsCount; i++) {
    const end = r.int() + r.at
    r.at++
    const timestamp = header.baseTimestamp + r.long()
    const offset = header.baseOffset + BigInt(r.int())
    const key = r.sized()
    const value = r.sized()
    const headers: RecordHeader[] = []
    for (let n = r.int(); n > 0; n--) headers.push({ name: r.sized() ?? Buffer.alloc(0), value: r.sized() })
    found.push({ offset, timestamp: appended ? header.maxTimestamp : timestamp, key, value, headers })
    r.at = end
  }
  return found
}
