import '../properties.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { codec, crc32c } from '../../engine/adapters/kafka/native.ts'
import { at, headerBytes, nextOffset } from '../../engine/batch/header.ts'
import { walk } from '../../engine/batch/walk.ts'
import { batchArbitrary } from './arbitrary.ts'
import { batchOf, patchVector } from './vectors.ts'

describe('the batches of a partition in a Fetch answer', () => {
  it('KAFKA 4: are given whole, a cut last one is left out', () => {
    const three = Buffer.concat([patchVector, patchVector, patchVector])
    const walked = walk(Buffer.concat([three, patchVector.subarray(0, 40)]))
    assert.equal(walked.batches.length, 3)
    assert.equal(walked.broken, false)
    for (const { bytes } of walked.batches) assert.deepEqual(bytes, patchVector)
    assert.deepEqual(walk(patchVector.subarray(0, 60)), { batches: [], broken: false })
  })

  it('are views, cut at any byte without an error', () => {
    const property = fc.property(fc.array(batchArbitrary(codec, crc32c), { maxLength: 4 }), fc.nat(), (given, cut) => {
      const whole = Buffer.concat(given)
      const length = cut % (whole.length + 1)
      const { batches, broken } = walk(whole.subarray(0, length))
      assert.equal(broken, false)
      const fit = given.filter((_, i) => Buffer.concat(given.slice(0, i + 1)).length <= length)
      assert.deepEqual(
        batches.map(batch => batch.bytes),
        fit,
      )
      for (const { bytes } of batches) assert.equal(bytes.buffer, whole.buffer)
    })
    fc.assert(property)
  })

  it('end with `broken` at a length that cannot be, and nothing after it is read', () => {
    for (const length of [-12, -13, 0, headerBytes - 13, -(2 ** 31)]) {
      const wrong = Buffer.from(patchVector)
      wrong.writeInt32BE(length, at.batchLength)
      const { batches, broken } = walk(Buffer.concat([patchVector, wrong, patchVector]))
      assert.deepEqual([batches.length, broken], [1, true])
    }
  })

  it('never reads outside of what it was given, whatever it is, and always ends', () => {
    const property = fc.property(fc.uint8Array({ maxLength: 400 }), bytes => {
      const given = Buffer.from(bytes)
      const { batches } = walk(given)
      assert.ok(batches.reduce((sum, batch) => sum + batch.bytes.length, 0) <= given.length)
    })
    fc.assert(property, { numRuns: 500 })
  })

  it('shows the magic of a batch older than ours', () => {
    const old = Buffer.alloc(80)
    old.writeInt32BE(30, at.batchLength)
    old.writeInt8(1, at.magic)
    assert.deepEqual(
      walk(old).batches.map(({ header, bytes }) => [header.magic, bytes.length]),
      [[1, 42]],
    )
  })

  it('say where the next one begins, whatever is in them', () => {
    assert.equal(nextOffset(batchOf(patchVector).header), 1003n)
  })
})
