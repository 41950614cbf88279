import type { Codec } from './codec.ts'
import type { Crc } from './crc.ts'
import { encode } from './encode.ts'
import type { CodecName } from './header.ts'
import type { KafkaRecord } from './records.ts'

/** Source offsets of the first record, and of what follows the last one of the piece. */
export type Piece = { bytes: Buffer; from: bigint; next: bigint; records: number }
/** One record that is larger than the limit even alone; `bytes` = the batch that it would make. */
export type TooLarge = { offset: bigint; bytes: number }

/**
 * The records as the fewest batches of at most `bytesMax` bytes each, cut between records, in order (M-37); null = one
 * batch, however large. What stands before a record that is too large is in `pieces`, what follows it is not.
 */
export function piecesOf(
  records: readonly KafkaRecord[],
  how: { codec: CodecName; bytesMax: number | null },
  codec: Codec,
  crc: Crc,
): { pieces: Piece[]; tooLarge: TooLarge | null } {
  const encoded = (from: number, count: number) =>
    encode(records.slice(from, from + count), { codec: how.codec, transactional: false }, codec, crc)
  const pieces: Piece[] = []
  for (let at = 0; at < records.length; ) {
    const { count, bytes } = longest(count => encoded(at, count), records.length - at, how.bytesMax)
    const first = records[at] as KafkaRecord
    if (how.bytesMax !== null && bytes.length > how.bytesMax) {
      return { pieces, tooLarge: { offset: first.offset, bytes: bytes.length } }
    }
    const last = records[at + count - 1] as KafkaRecord
    pieces.push({ bytes, from: first.offset, next: last.offset + 1n, records: count })
    at += count
  }
  return { pieces, tooLarge: null }
}

/**
 * The most records from here on that fit; at least one. How far a codec presses them is known only when they are
 * encoded: the share that fits is guessed from what did not, then halved in.
 */
function longest(
  encoded: (count: number) => Buffer,
  all: number,
  bytesMax: number | null,
): { count: number; bytes: Buffer } {
  let best = { count: 1, bytes: encoded(all) }
  if (bytesMax === null || best.bytes.length <= bytesMax) return { count: all, bytes: best.bytes }
  let tooMany = all
  let guess = Math.floor((all * bytesMax) / best.bytes.length)
  best = { count: 1, bytes: encoded(1) }
  while (tooMany - best.count > 1) {
    const count = Math.min(tooMany - 1, Math.max(best.count + 1, guess))
    const bytes = encoded(count)
    if (bytes.length <= bytesMax) best = { count, bytes }
    else tooMany = count
    guess = Math.floor((best.count + tooMany) / 2)
  }
  return best
}
