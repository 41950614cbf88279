import '../properties.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { codec, crc32c } from '../../engine/adapters/kafka/native.ts'
import { check } from '../../engine/batch/check.ts'
import { encode } from '../../engine/batch/encode.ts'
import { at, codecs, logAppendTime, readHeader } from '../../engine/batch/header.ts'
import { records } from '../../engine/batch/records.ts'
import { batchArbitrary, recordsArbitrary, resealed } from './arbitrary.ts'
import { batchOf, patchVector } from './vectors.ts'

const byValue = (a: bigint, b: bigint) => (a < b ? -1 : 1)
const text = (value: string) => Buffer.from(value)

describe('the records of a batch', () => {
  it('are those of the vector: null and empty are two things, headers may repeat', () => {
    const found = records(batchOf(patchVector), codec)
    assert.deepEqual(
      found.map(record => [record.offset, record.key, record.value]),
      [
        [1000n, text('k1'), text('hello')],
        [1001n, text('k2'), null],
        [1002n, null, text('')],
      ],
    )
    const h = text('h')
    assert.deepEqual(found[0]?.headers, [
      { name: h, value: text('1') },
      { name: h, value: null },
    ])
    assert.equal(found[0]?.timestamp, 1_700_000_000_000n)
  })

  it('come back as they were written, in any codec', () => {
    const property = fc.property(
      recordsArbitrary,
      fc.constantFrom(...codecs),
      fc.boolean(),
      (given, name, transactional) => {
        const bytes = encode(given, { codec: name, transactional }, codec, crc32c)
        const batch = batchOf(bytes)
        assert.deepEqual(
          records(batch, codec),
          given.map((record, i) => ({ ...record, offset: BigInt(i) })),
        )
        const { header } = batch
        assert.ok(check(bytes, header, crc32c).ok)
        assert.equal(header.bytes, bytes.length)
        assert.equal(header.baseTimestamp, given[0]?.timestamp)
        assert.equal(
          header.maxTimestamp,
          given
            .map(record => record.timestamp)
            .toSorted(byValue)
            .at(-1),
        )
        assert.deepEqual([header.recordsCount, header.lastOffsetDelta], [given.length, given.length - 1])
        assert.deepEqual([header.producerId, header.producerEpoch, header.baseSequence], [-1n, -1, -1])
      },
    )
    fc.assert(property, { numRuns: 300 })
  })

  it('all have the append time where the broker set it', () => {
    const property = fc.property(batchArbitrary(codec, crc32c), bytes => {
      const attributes = readHeader(bytes).attributes | logAppendTime
      const batch = batchOf(resealed(bytes, { attributes }, crc32c))
      for (const record of records(batch, codec)) assert.equal(record.timestamp, batch.header.maxTimestamp)
    })
    fc.assert(property)
  })

  it('end with a RangeError when their section is damaged, never with a hang or bytes from outside', () => {
    const damage = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 6 })
    const property = fc.property(
      recordsArbitrary,
      fc.constantFrom(...codecs),
      damage,
      fc.nat(),
      (given, name, bytes, cut) => {
        const whole = encode(given, { codec: name, transactional: false }, codec, crc32c)
        const damaged = whole.subarray(0, whole.length - (cut % Math.min(20, whole.length - at.records)))
        for (const [where, byte] of bytes) damaged[at.records + (where % (damaged.length - at.records))] = byte
        try {
          assert.ok(records(batchOf(damaged), codec).length <= given.length)
        } catch (error) {
          assert.ok(error instanceof RangeError, String(error))
        }
      },
    )
    fc.assert(property, { numRuns: 2_000 })
  })

  it('are refused when there are more or fewer than the header says', () => {
    const fresh = () => Buffer.from(patchVector)
    for (const recordsCount of [2, 4, 0, -1, 2 ** 31 - 1]) {
      assert.throws(() => records(batchOf(resealed(fresh(), { recordsCount }, crc32c)), codec), RangeError)
    }
  })

  it('are refused when a length leads backwards, which would be read for ever', () => {
    const backwards = Buffer.from(patchVector)
    // The length of the first record, 20, becomes −1.
    backwards.writeUInt8(1, at.records)
    assert.throws(() => records(batchOf(resealed(backwards, { recordsCount: 2 ** 31 - 1 }, crc32c)), codec), RangeError)
  })

  it('are refused in a codec that nobody knows', () => {
    for (const attributes of [5, 6, 7]) {
      assert.throws(
        () => records(batchOf(resealed(Buffer.from(patchVector), { attributes }, crc32c)), codec),
        RangeError,
      )
    }
  })
})
