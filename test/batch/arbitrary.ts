import fc from 'fast-check'
import type { Codec } from '../../engine/batch/codec.ts'
import type { Crc } from '../../engine/batch/crc.ts'
import { encode } from '../../engine/batch/encode.ts'
import { at, codecs, deleteHorizon, logAppendTime, transactional } from '../../engine/batch/header.ts'
import type { KafkaRecord } from '../../engine/batch/records.ts'

/** Plain objects, as a reader makes them. */
const noPrototype = { noNullPrototype: true }
const bytesOf = (maxLength: number) => fc.uint8Array({ maxLength }).map(bytes => Buffer.from(bytes))
const orNull = <T>(some: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 4, arbitrary: some }, { weight: 1, arbitrary: fc.constant(null) })
/** Long and dull, so that codecs have something to do and lengths need more than a byte. */
const long = fc.nat(20_000).map(length => Buffer.alloc(length, 'millrace '))
/** Doubles are wanted: `a, b, a`. */
const headerArbitrary = fc.record(
  {
    name: fc.oneof(
      fc.constantFrom('a', 'b', '').map(name => Buffer.from(name)),
      bytesOf(5),
    ),
    value: orNull(bytesOf(20)),
  },
  noPrototype,
)

/** Times of today, of before 1970, and of the ends of 64 bits. */
const timestampArbitrary = fc.oneof(
  fc.bigInt({ min: 1_700_000_000_000n, max: 1_700_000_100_000n }),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.constantFrom(-1n, 0n, -(2n ** 63n), 2n ** 63n - 1n),
)

const recordArbitrary: fc.Arbitrary<Omit<KafkaRecord, 'offset'>> = fc.record(
  {
    timestamp: timestampArbitrary,
    key: orNull(bytesOf(12)),
    value: orNull(fc.oneof({ weight: 9, arbitrary: bytesOf(200) }, { weight: 1, arbitrary: long })),
    headers: fc.array(headerArbitrary, { maxLength: 4 }),
  },
  noPrototype,
)

export const recordsArbitrary = fc.array(recordArbitrary, { minLength: 1, maxLength: 20 })

/** A batch as it may lie in a source: any codec and flags, some base offset, epoch and producer, a right CRC. */
export const batchArbitrary = (codec: Codec, crc: Crc): fc.Arbitrary<Buffer> =>
  fc
    .record({
      records: recordsArbitrary,
      codec: fc.constantFrom(...codecs),
      flags: fc.subarray([logAppendTime, transactional, deleteHorizon]),
      baseOffset: fc.bigInt({ min: 0n, max: 2n ** 50n }),
      epoch: fc.integer({ min: -1, max: 1000 }),
      producerId: fc.bigInt({ min: -1n, max: 2n ** 40n }),
    })
    .map(from => {
      const bytes = encode(from.records, { codec: from.codec, transactional: false }, codec, crc)
      bytes.writeBigInt64BE(from.baseOffset, at.baseOffset)
      bytes.writeInt32BE(from.epoch, at.partitionLeaderEpoch)
      bytes.writeBigInt64BE(from.producerId, at.producerId)
      const attributes = from.flags.reduce((sum, flag) => sum | flag, bytes.readInt16BE(at.attributes))
      return resealed(bytes, { attributes }, crc)
    })

/** Header fields changed by hand, and the CRC made right again. */
export function resealed(
  bytes: Buffer,
  change: { attributes?: number; lastOffsetDelta?: number; recordsCount?: number },
  crc: Crc,
): Buffer {
  if (change.attributes !== undefined) bytes.writeInt16BE(change.attributes, at.attributes)
  if (change.lastOffsetDelta !== undefined) bytes.writeInt32BE(change.lastOffsetDelta, at.lastOffsetDelta)
  if (change.recordsCount !== undefined) bytes.writeInt32BE(change.recordsCount, at.recordsCount)
  bytes.writeUInt32BE(crc(bytes.subarray(at.attributes)), at.crc)
  return bytes
}
