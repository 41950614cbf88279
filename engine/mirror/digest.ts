import { createHash, hash } from 'node:crypto'
import type { KafkaRecord } from '../batch/records.ts'

/** What of a record both sides must have alike; its offset is its cluster's own. */
export type Comparable = Omit<KafkaRecord, 'offset'>

/**
 * The digest of a record (MIRROR §3.6), 32 bytes: SHA-256 of int64 timestamp, then key and value each as int32 length
 * (−1 = null) and bytes, int32 header count, each header's name and value the same way. Batches, codecs and offsets
 * are not in it.
 */
export function digestRecord(record: Comparable): Buffer {
  const bytes = Buffer.allocUnsafe(sizeOf(record))
  let at = bytes.writeBigInt64BE(record.timestamp, 0)
  const sized = (part: Buffer | null) => {
    at = bytes.writeInt32BE(part === null ? -1 : part.length, at)
    if (part !== null) at += part.copy(bytes, at)
  }
  sized(record.key)
  sized(record.value)
  at = bytes.writeInt32BE(record.headers.length, at)
  for (const header of record.headers) {
    sized(header.name)
    sized(header.value)
  }
  return hash('sha256', bytes, 'buffer')
}

function sizeOf(record: Comparable): number {
  let bytes = 8 + 4 + (record.key?.length ?? 0) + 4 + (record.value?.length ?? 0) + 4
  for (const { name, value } of record.headers) bytes += 8 + name.length + (value?.length ?? 0)
  return bytes
}

/** The digest of a run of records in their order (MIRROR §3.6): of none, 32 zero bytes; then SHA-256(before ‖ digest). */
export function digestRange(digests: Iterable<Buffer>): Buffer {
  let range: Buffer = Buffer.alloc(32)
  for (const digest of digests) range = createHash('sha256').update(range).update(digest).digest()
  return range
}
