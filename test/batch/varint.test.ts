import '../properties.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { pushSmall, pushVarint, VarintReader } from '../../engine/batch/varint.ts'

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
const edges = fc
  .integer({ min: 0, max: 63 })
  .chain(bits => fc.constantFrom(2n ** BigInt(bits), -(2n ** BigInt(bits)), 2n ** BigInt(bits) - 1n))
const long = fc.oneof(int64, edges).map(value => BigInt.asIntN(64, value))
const reader = (...bytes: number[]) => new VarintReader(Buffer.from(bytes), 0)

function written(value: bigint): number[] {
  const out: number[] = []
  pushVarint(out, value)
  return out
}

describe('the varints of records', () => {
  it('come back as they were written, 64 bits of them', () => {
    const property = fc.property(long, value => {
      const bytes = written(value)
      const r = reader(...bytes)
      assert.equal(r.long(), value)
      assert.equal(r.at, bytes.length)
    })
    fc.assert(property, { numRuns: 2_000 })
  })

  it('are the same numbers for what fits 32 bits', () => {
    const property = fc.property(fc.oneof(fc.integer(), fc.constantFrom(-1, 0, 63, 64, -64, -65, 2 ** 30)), value => {
      const small: number[] = []
      pushSmall(small, value)
      assert.deepEqual(small, written(BigInt(value)))
      assert.equal(reader(...small).int(), value)
    })
    fc.assert(property, { numRuns: 2_000 })
  })

  it('are those of Kafka', () => {
    assert.deepEqual(written(0n), [0])
    assert.deepEqual(written(-1n), [1])
    assert.deepEqual(written(1n), [2])
    assert.deepEqual(written(-64n), [127])
    assert.deepEqual(written(64n), [0x80, 1])
    assert.deepEqual(written(-(2n ** 63n)), [...Array<number>(9).fill(255), 1])
  })

  it('end with a RangeError where the bytes end, or the number is too long', () => {
    assert.throws(() => reader(0x80).long(), RangeError)
    assert.throws(() => reader().int(), RangeError)
    assert.throws(() => reader(...Array<number>(11).fill(0x80), 0).long(), RangeError)
    assert.throws(() => reader(...written(2n ** 31n)).int(), RangeError)
    assert.throws(() => reader(...written(-(2n ** 31n) - 1n)).int(), RangeError)
  })

  it('say how many bytes follow, −1 is null, and more than there are is a RangeError', () => {
    assert.equal(reader(1).sized(), null)
    assert.deepEqual(reader(0).sized(), Buffer.alloc(0))
    assert.deepEqual(reader(4, 7, 8).sized(), Buffer.from([7, 8]))
    assert.throws(() => reader(6, 7, 8).sized(), RangeError)
    assert.throws(() => reader(...written(2n ** 31n - 1n)).sized(), RangeError)
  })
})
