import '../properties.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { codec, crc32c } from '../../engine/adapters/kafka/native.ts'
import { check } from '../../engine/batch/check.ts'
import { at, codecMask, control, readHeader } from '../../engine/batch/header.ts'
import { type Producer, rewrite } from '../../engine/batch/rewrite.ts'
import { batchArbitrary } from './arbitrary.ts'
import { batchOf, hex, patchVector } from './vectors.ts'

const ours = (sequence: number, transactional = false): Producer => ({
  producerId: 9000n,
  producerEpoch: 1,
  sequence,
  transactional,
})

function rewritten(bytes: Buffer, producer: Producer): Buffer {
  const copy = Buffer.from(bytes)
  rewrite(copy, producer, check(copy, readHeader(copy), crc32c).tailCrc, crc32c)
  return copy
}

describe('a batch that becomes one of ours', () => {
  it('MIRROR 1: gets our header, and its records stay as they were (V-1)', () => {
    const plain = rewritten(patchVector, ours(12))
    const head =
      '000000000000000000000056ffffffff025bb0b4cb0000000000020000018bcfe568000000018bcfe5680a000000000000232800010000000c00000003'
    assert.equal(plain.toString('hex'), head + patchVector.subarray(at.records).toString('hex'))
    const inTransaction = rewritten(patchVector, ours(12, true))
    assert.equal(inTransaction.readUInt16BE(at.attributes), 0x10)
    assert.equal(inTransaction.readUInt32BE(at.crc), 0x9f5a616d)
    assert.equal(rewritten(patchVector, ours(2147483646)).readUInt32BE(at.crc), 0xed66fca8)
  })

  it('MIRROR 1: loses the delete horizon, its records keep their times (V-2)', () => {
    const source = hex(
      '000000000000004d0000003b0000000002b23c4ea10040000000000000018bcfed09200000018bcfe56800ffffffffffffffffffffffffffff' +
        '000000011200bf843d0002740100',
    )
    const sent = rewritten(source, ours(0))
    assert.equal(sent.readUInt16BE(at.attributes), 0)
    assert.equal(sent.readUInt32BE(at.crc), 0x2983cf78)
    assert.deepEqual(sent.subarray(at.recordsCount), source.subarray(at.recordsCount))
  })

  it('KAFKA 1: is the batch of the vectors', () => {
    const source = hex(
      '000000000000002a0000003a000000050208d365f80008000000000000018bcfe568000000018bcfe56800ffffffffffffffffffffffffffff' +
        '0000000110000000026b027600',
    )
    const producer = { producerId: 4000n, producerEpoch: 3, sequence: 2147483647, transactional: false }
    const sent = rewritten(source, producer)
    assert.equal(
      sent.toString('hex'),
      '00000000000000000000003affffffff021c2c58c60000000000000000018bcfe568000000018bcfe568000000000000000fa000037fffffff' +
        '0000000110000000026b027600',
    )
    assert.equal(rewritten(source, { ...producer, sequence: 7, transactional: true }).readUInt32BE(at.crc), 0x2ebd78bd)
  })

  it('KAFKA 1: has the CRC-32C of Castagnoli', () => {
    assert.equal(crc32c(Buffer.from('123456789')), 0xe3069283)
  })

  it('MIRROR 1: is changed in place, nothing from byte 57 on is touched, and a second time changes nothing', () => {
    fc.assert(
      fc.property(
        batchArbitrary(codec, crc32c),
        fc.boolean(),
        fc.nat(2 ** 31 - 1),
        (bytes, transactional, sequence) => {
          const { memory, batch } = amid(bytes)
          const before = Buffer.from(memory)
          const { tailCrc } = check(batch, readHeader(batch), crc32c)
          rewrite(batch, ours(sequence, transactional), tailCrc, crc32c)
          const header = readHeader(batch)
          assert.deepEqual(memory.subarray(0, 7), before.subarray(0, 7))
          assert.deepEqual(memory.subarray(7 + at.recordsCount), before.subarray(7 + at.recordsCount))
          assert.deepEqual(
            batch.subarray(at.lastOffsetDelta, at.producerId),
            bytes.subarray(at.lastOffsetDelta, at.producerId),
          )
          assert.ok(check(batch, header, crc32c).ok)
          const kept = codecMask | control
          assert.equal(header.attributes & kept, readHeader(bytes).attributes & kept)
          const once = Buffer.from(batch)
          rewrite(batch, ours(sequence, transactional), tailCrc, crc32c)
          rewrite(batch, ours(sequence, transactional), null, crc32c)
          assert.deepEqual(batch, once)
        },
      ),
    )
  })

  it('MIRROR 1: is not sent when it is damaged, for its own CRC was checked before (V-1)', () => {
    const damaged = Buffer.from(patchVector)
    damaged[damaged.length - 3] = (damaged.at(-3) ?? 0) ^ 1
    assert.equal(check(damaged, batchOf(damaged).header, crc32c).ok, false)
    assert.equal(check(patchVector, batchOf(patchVector).header, crc32c).ok, true)
  })
})

/** The batch as a view in the middle of a larger frame. */
function amid(bytes: Buffer): { memory: Buffer; batch: Buffer } {
  const memory = Buffer.concat([Buffer.alloc(7, 0xdb), bytes, Buffer.alloc(9, 0xdb)])
  return { memory, batch: memory.subarray(7, 7 + bytes.length) }
}
