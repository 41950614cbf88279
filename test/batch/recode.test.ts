import '../properties.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { codec, crc32c } from '../../engine/adapters/kafka/native.ts'
import { encode } from '../../engine/batch/encode.ts'
import { at, codecOf, codecs, logAppendTime, readHeader } from '../../engine/batch/header.ts'
import { recode } from '../../engine/batch/recode.ts'
import { type KafkaRecord, records } from '../../engine/batch/records.ts'
import { rewrite } from '../../engine/batch/rewrite.ts'
import { recordsArbitrary, resealed } from './arbitrary.ts'
import { batchOf, hex } from './vectors.ts'

function sent(source: string, from: bigint, sequence: number): string | undefined {
  const bytes = recode(batchOf(hex(source)), from, codec, crc32c)
  if (bytes) rewrite(bytes, { producerId: 9000n, producerEpoch: 1, sequence, transactional: false }, null, crc32c)
  return bytes?.toString('hex')
}

describe('a batch that is decoded and encoded again', () => {
  it('MIRROR 1: closes its offsets up when it is thin (V-2)', () => {
    const thin =
      '00000000000007d00000004500000009022674687c0000000000040000018bcfe568000000018bcfe569900000000000001b590003000000320000000' +
      '21200c8010202610278001200a006080262027900'
    assert.equal(
      sent(thin, 2000n, 15),
      '000000000000000000000044ffffffff025010c4390000000000010000018bcfe568640000018bcfe56990000000000000232800010000000f00000002' +
        '1000000002610278001200d804020262027900',
    )
  })

  it('MIRROR 1: writes the append time on each record (V-2)', () => {
    const appended =
      '00000000000005000000004100000001021eebe7540008000000010000018bcfe568000000018bcfe58b28ffffffffffffffffffffffffffff0000' +
      '00020e000000010270000e000e0201027100'
    assert.equal(
      sent(appended, 0n, 17),
      '000000000000000000000041ffffffff0244f74ca60000000000010000018bcfe58b280000018bcfe58b28000000000000232800010000001100000002' +
        '0e000000010270000e00000201027100',
    )
  })

  it('keeps every record from the position on, with its time, key, value and headers, in the codec of the batch', () => {
    const property = fc.property(
      recordsArbitrary,
      fc.constantFrom(...codecs),
      fc.infiniteStream(fc.boolean()),
      fc.boolean(),
      fc.nat(25),
      (given, name, holes, appended, from) => {
        const source = thinned(given, { name, holes, appended })
        const before = records(source, codec)
        const bytes = recode(source, BigInt(1000 + from), codec, crc32c)
        const kept = before.filter(record => record.offset >= BigInt(1000 + from))
        if (bytes === null) return assert.equal(kept.length, 0)
        const after = batchOf(bytes)
        assert.equal(codecOf(after.header.attributes), name)
        assert.equal(after.header.lastOffsetDelta + 1, kept.length)
        assert.equal(after.header.baseTimestamp, kept[0]?.timestamp)
        assert.equal(after.header.attributes & logAppendTime, 0)
        assert.deepEqual(
          records(after, codec),
          kept.map((record, i) => ({ ...record, offset: BigInt(i) })),
        )
        if (appended) for (const record of kept) assert.equal(record.timestamp, source.header.maxTimestamp)
      },
    )
    fc.assert(property, { numRuns: 300 })
  })
})

/** What compaction leaves of a batch: some records, under their old offsets; base offset 1000. */
function thinned(
  given: Omit<KafkaRecord, 'offset'>[],
  how: { name: (typeof codecs)[number]; holes: Iterator<boolean>; appended: boolean },
) {
  const whole = encode(given, { codec: 'none', transactional: false }, codec, crc32c)
  const left: Buffer[] = []
  let count = 0
  for (const one of cut(whole)) {
    if (how.holes.next().value) continue
    left.push(one)
    count++
  }
  const section = codec.compress(how.name, Buffer.concat(left))
  const bytes = Buffer.concat([whole.subarray(0, at.records), section])
  bytes.writeBigInt64BE(1000n, at.baseOffset)
  bytes.writeInt32BE(bytes.length - 12, at.batchLength)
  const attributes = codecs.indexOf(how.name) | (how.appended ? logAppendTime : 0)
  return batchOf(resealed(bytes, { attributes, recordsCount: count }, crc32c))
}

/** The records of an uncompressed batch, each with the varint of its length. */
function* cut(batch: Buffer): Generator<Buffer> {
  let start: number = at.records
  for (let i = 0; i < readHeader(batch).recordsCount; i++) {
    let length = 0
    let shift = 0
    let next = start
    for (; ; shift += 7) {
      const byte = batch.readUInt8(next++)
      length += (byte & 127) * 2 ** shift
      if (byte < 128) break
    }
    const end = next + length / 2
    yield batch.subarray(start, end)
    start = end
  }
}
