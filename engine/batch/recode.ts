import type { Codec } from './codec.ts'
import type { Crc } from './crc.ts'
import { encode } from './encode.ts'
import { codecOf, type Header } from './header.ts'
import { records } from './records.ts'

/**
 * The batch decoded and encoded again (M-35): without records below `from`, offsets closed up, append time written on
 * each record, the same codec. Null when no record is left.
 */
export function recode(batch: { header: Header; bytes: Buffer }, from: bigint, codec: Codec, crc: Crc): Buffer | null {
  const kept = records(batch, codec).filter(record => record.offset >= from)
  if (kept.length === 0) return null
  return encode(kept, { codec: codecOf(batch.header.attributes) ?? 'none', transactional: false }, codec, crc)
}
