import type { Codec } from './codec.ts'
import type { Crc } from './crc.ts'
import { encode } from './encode.ts'
import type { CodecName } from './header.ts'
import type { KafkaRecord } from './records.ts'

/** Source offsets of the first record, and of what follows the last one of the piece. */
export type Piece = { bytes: Buffer; from: bigint; next: bigint; records: number }

/**
 * The records as the fewest batches of at most `bytesMax` bytes each, cut between records, in order (M-37); null = one
 * batch, however large. A record that is larger alone is a piece of its own: what it meets is the destination's to say.
 */
export function piecesOf(
  records: readonly KafkaRecord[],
  how: { codec: CodecName; bytesMax: number | null },
  codec: Codec,
  crc: Crc,
): Piece[] {
  const pieces: Piece[] = []
  let guess = records.length
  for (let at = 0; at < records.length; ) {
    const encoded = (count: number) =>
      encode(records.slice(at, at + count), { codec: how.codec, transactional: false }, codec, crc)
    const { count, bytes } = longest(encoded, records.length - at, how.bytesMax, guess)
    const first = records[at] as KafkaRecord
    const last = records[at + count - 1] as KafkaRecord
    pieces.push({ bytes, from: first.offset, next: last.offset + 1n, records: count })
    at += count
    // What was too much for one piece is not encoded whole again for each.
    guess = 2 * count
  }
  return pieces
}

/**
 * The most records from here on that fit; at least one. How far a codec presses them is known only when they are
 * encoded: from `guess` on it is doubled until they do not fit, then the share that fits is guessed and halved in.
 */
function longest(
  encoded: (count: number) => Buffer,
  all: number,
  bytesMax: number | null,
  guess: number,
): { count: number; bytes: Buffer } {
  if (bytesMax === null) return { count: all, bytes: encoded(all) }
  let best: { count: number; bytes: Buffer } | null = null
  let tooMany = all + 1
  let count = Math.min(all, guess)
  for (;;) {
    const bytes = encoded(count)
    const fits = bytes.length <= bytesMax
    if (fits || count === 1) best = { count, bytes }
    if (!fits) tooMany = count
    if (best !== null && best.count + 1 >= tooMany) return best
    const share = Math.floor((count * bytesMax) / bytes.length)
    count = nextCount({ fits: best?.count ?? 0, tooMany, all, share })
  }
}

/** What to try next between what fits and what is too much: at first as many as the bytes of the last try promise. */
function nextCount({
  fits,
  tooMany,
  all,
  share,
}: {
  fits: number
  tooMany: number
  all: number
  share: number
}): number {
  if (tooMany > all) return Math.min(all, 2 * fits)
  const count = fits === 0 ? share : Math.floor((fits + tooMany) / 2)
  return Math.min(tooMany - 1, Math.max(fits + 1, count))
}
