import '../properties.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { crc32c } from '../../engine/adapters/kafka/native.ts'
import { check, crcFrom } from '../../engine/batch/check.ts'
import { combine } from '../../engine/batch/crc.ts'
import { at, lengthOverheadBytes, readHeader } from '../../engine/batch/header.ts'
import { onePassBytesMin } from '../../engine/limits.ts'

/** The header of a batch and random bytes behind it: CRCs do not care. */
function sealed(bytes: Buffer): Buffer {
  bytes.writeInt32BE(bytes.length - lengthOverheadBytes, at.batchLength)
  bytes.writeInt8(2, at.magic)
  bytes.writeUInt32BE(crc32c(bytes.subarray(at.attributes)), at.crc)
  return bytes
}

const batchOfLength = (range: { min: number; max: number }) =>
  fc
    .tuple(fc.integer(range), fc.uint8Array({ minLength: 61, maxLength: 61 }), fc.integer())
    .map(([length, head, seed]) => {
      const bytes = Buffer.alloc(length, Buffer.from(`${seed} tail`))
      bytes.set(head)
      return sealed(bytes)
    })

describe('the check of a batch', () => {
  it('KAFKA 4: sees every flipped bit from byte 21 on', () => {
    const batch = sealed(Buffer.alloc(200, 'abc'))
    assert.equal(check(batch, readHeader(batch), crc32c).ok, true)
    let seen = 0
    for (let bit = at.attributes * 8; bit < batch.length * 8; bit++) {
      const damaged = Buffer.from(batch)
      damaged.writeUInt8(damaged.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
      if (!check(damaged, readHeader(damaged), crc32c).ok) seen++
    }
    assert.equal(seen, 1432)
  })

  it('KAFKA 5: gives the same in one pass as in two', () => {
    const property = fc.property(batchOfLength({ min: 61, max: 5060 }), batch => {
      const tailCrc = crc32c(batch.subarray(at.recordsCount))
      assert.equal(crcFrom(batch, tailCrc, crc32c), crc32c(batch.subarray(at.attributes)))
    })
    fc.assert(property, { numRuns: 3_000 })
  })

  it('keeps the CRC of the tail where one pass pays', () => {
    const property = fc.property(batchOfLength({ min: onePassBytesMin - 2, max: onePassBytesMin + 2 }), batch => {
      const tailCrc = batch.length < onePassBytesMin ? null : crc32c(batch.subarray(at.recordsCount))
      const computed = crc32c(batch.subarray(at.attributes))
      assert.deepEqual(check(batch, readHeader(batch), crc32c), { ok: true, computed, tailCrc })
    })
    fc.assert(property)
  })

  it('joins the CRCs of two parts to the one of both, also of empty parts', () => {
    const property = fc.property(fc.uint8Array({ maxLength: 300 }), fc.uint8Array({ maxLength: 300 }), (a, b) => {
      assert.equal(combine(crc32c(a), crc32c(b), b.length), crc32c(Buffer.concat([a, b])))
    })
    fc.assert(property)
    const large = Buffer.alloc(5 * 1024 * 1024, 'millrace')
    assert.equal(
      combine(crc32c(Buffer.from('a')), crc32c(large), large.length),
      crc32c(Buffer.concat([Buffer.from('a'), large])),
    )
  })
})
