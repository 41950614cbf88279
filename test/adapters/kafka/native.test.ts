import '../../properties.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import { compressFrameSync } from 'lz4-napi'
import { compressSync } from 'snappy'
import { lz4BytesMax } from '../../../engine/adapters/kafka/lz4Frame.ts'
import { codec } from '../../../engine/adapters/kafka/native.ts'
import { codecs } from '../../../engine/batch/header.ts'
import { recordsBytesMax } from '../../../engine/limits.ts'

const dull = fc
  .tuple(fc.uint8Array({ minLength: 1, maxLength: 50 }), fc.nat(200_000))
  .map(([piece, length]) => Buffer.alloc(length, piece))
const some = fc.oneof(
  dull,
  fc.uint8Array({ maxLength: 5_000 }).map(bytes => Buffer.from(bytes)),
)

describe('the codecs', () => {
  it('give back what they were given', () => {
    const property = fc.property(some, fc.constantFrom(...codecs), (bytes, name) => {
      assert.deepEqual(codec.decompress(name, codec.compress(name, bytes)), bytes)
    })
    fc.assert(property, { numRuns: 200 })
  })

  it('read snappy with and without the framing of Java', () => {
    const bytes = Buffer.alloc(100_000, 'millrace')
    const framed = codec.compress('snappy', bytes)
    assert.equal(framed.subarray(0, 16).toString('hex'), '82534e41505059000000000100000001')
    assert.deepEqual(codec.decompress('snappy', framed), bytes)
    assert.deepEqual(codec.decompress('snappy', compressSync(bytes) as Buffer), bytes)
  })

  it('write lz4 frames of independent blocks, the only ones Java reads', () => {
    const frame = codec.compress('lz4', Buffer.alloc(300_000, 'millrace'))
    assert.equal(frame.readUInt32LE(0), 0x184d2204)
    assert.equal(frame.readUInt8(4) & 0xe0, 0x60)
  })

  it('end with a RangeError at whatever is not theirs, and always end', () => {
    const rubbish = fc.uint8Array({ maxLength: 300 })
    const property = fc.property(some, fc.constantFrom(...codecs), rubbish, fc.nat(), (bytes, name, with_, where) => {
      if (name === 'none') return
      const whole = codec.compress(name, bytes)
      const at = where % (whole.length + 1)
      for (const given of [Buffer.from(with_), Buffer.concat([whole.subarray(0, at), with_, whole.subarray(at)])]) {
        try {
          codec.decompress(name, given)
        } catch (error) {
          assert.ok(error instanceof RangeError, String(error))
          assert.match(error.message, new RegExp(`^the ${name} records cannot be decompressed: `))
        }
      }
    })
    fc.assert(property, { numRuns: 500 })
    const backwards = Buffer.concat([
      codec.compress('snappy', Buffer.from('a')).subarray(0, 16),
      Buffer.from('fffffffc', 'hex'),
    ])
    assert.throws(() => codec.decompress('snappy', backwards), RangeError)
  })

  it('make no more of a few bytes than the limit allows', () => {
    const zeros = Buffer.alloc(recordsBytesMax + 1)
    // Of many members, as gzip allows: made faster.
    const gzip = Buffer.concat(Array<Buffer>(65).fill(gzipSync(Buffer.alloc(recordsBytesMax / 64), { level: 1 })))
    const bombs = { gzip, zstd: zstdCompressSync(zeros), lz4: compressFrameSync(zeros) }
    for (const [name, bomb] of Object.entries(bombs)) {
      assert.ok(bomb.length < zeros.length / 50)
      assert.throws(() => codec.decompress(name as keyof typeof bombs, bomb), RangeError)
    }
  })

  it('make no room for what a snappy block only claims, alone or with others', () => {
    const claims = Buffer.from('ffffffff0f00', 'hex')
    assert.throws(() => codec.decompress('snappy', claims), /more than/)
    const head = codec.compress('snappy', Buffer.alloc(0)).subarray(0, 16)
    const length = Buffer.from([0, 0, 0, claims.length])
    assert.throws(() => codec.decompress('snappy', Buffer.concat([head, length, claims])), /more than/)
  })
})

describe('the bound of an LZ4 frame', () => {
  it('is never below what is in it, and close to it', () => {
    const property = fc.property(some, fc.boolean(), fc.boolean(), (bytes, contentChecksum, blockChecksums) => {
      const max = lz4BytesMax(compressFrameSync(bytes, { contentChecksum, blockChecksums }))
      assert.ok(max >= bytes.length)
      assert.ok(max <= bytes.length * 300 + 4 * 1024 * 1024)
    })
    fc.assert(property, { numRuns: 200 })
  })
})
