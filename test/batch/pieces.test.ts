import '../properties.ts'
import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { codec, crc32c } from '../../engine/adapters/kafka/native.ts'
import { compressed } from '../../engine/batch/compress.ts'
import { encode } from '../../engine/batch/encode.ts'
import { codecOf, codecs, readHeader } from '../../engine/batch/header.ts'
import { piecesOf } from '../../engine/batch/pieces.ts'
import { type KafkaRecord, records } from '../../engine/batch/records.ts'
import { rewrite } from '../../engine/batch/rewrite.ts'
import { recordsArbitrary } from './arbitrary.ts'

function of(count: number, valueBytes: number): KafkaRecord[] {
  return Array.from({ length: count }, (_, i) => ({
    offset: 100n + BigInt(i),
    timestamp: 1_700_000_000_000n,
    key: null,
    value: Buffer.alloc(valueBytes, i),
    headers: [],
  }))
}
const opened = (bytes: Buffer) => records({ header: readHeader(bytes), bytes }, codec)

describe('records cut into batches below a limit', () => {
  it('MIRROR 6: ten records of 300 bytes below 1,000 make pieces of 3, 3, 3 and 1, the first of 988 bytes', () => {
    const pieces = piecesOf(of(10, 300), { codec: 'none', bytesMax: 1_000 }, codec, crc32c)
    assert.deepEqual(
      pieces.map(piece => piece.records),
      [3, 3, 3, 1],
    )
    assert.equal(pieces[0]?.bytes.length, 988)
    assert.deepEqual(
      pieces.map(({ from, next }) => [from, next]),
      [
        [100n, 103n],
        [103n, 106n],
        [106n, 109n],
        [109n, 110n],
      ],
    )
  })

  it('a record that is too large alone is a piece of its own, and those before and behind it are not', () => {
    const all = of(5, 300)
    const large = all[3]
    assert.ok(large)
    large.value = Buffer.alloc(2_000)
    const pieces = piecesOf(all, { codec: 'none', bytesMax: 1_000 }, codec, crc32c)
    assert.deepEqual(
      pieces.map(piece => [piece.from, piece.next, piece.bytes.length > 1_000]),
      [
        [100n, 103n, false],
        [103n, 104n, true],
        [104n, 105n, false],
      ],
    )
  })

  it('a batch of many pieces is not encoded whole for each of them', () => {
    let encodedBytes = 0
    const counting = (bytes: Uint8Array) => {
      encodedBytes += bytes.length
      return crc32c(bytes)
    }
    const pieces = piecesOf(of(1_000, 300), { codec: 'none', bytesMax: 1_000 }, codec, counting)
    assert.equal(pieces.length, 334)
    assert.ok(encodedBytes < 10 * 300 * 1_000, `${encodedBytes}`)
  })

  it('every record comes back, in order, each piece is within the limit, and one more would not have fitted', () => {
    const codecNames = fc.constantFrom(...codecs)
    fc.assert(
      fc.property(recordsArbitrary, codecNames, fc.integer({ min: 100, max: 600 }), (some, name, bytesMax) => {
        const all: KafkaRecord[] = some.map((record, i) => ({ ...record, offset: 100n + BigInt(i) }))
        const pieces = piecesOf(all, { codec: name, bytesMax }, codec, crc32c)
        const back = pieces.flatMap(piece => opened(piece.bytes))
        const bare = (record: KafkaRecord) => ({ ...record, offset: 0n })
        assert.deepEqual(back.map(bare), all.map(bare))
        for (const [i, piece] of pieces.entries()) {
          assert.ok(piece.bytes.length <= bytesMax || piece.records === 1)
          const more = all.slice(all.findIndex(r => r.offset === piece.from)).slice(0, piece.records + 1)
          if (name === 'none' && i < pieces.length - 1) {
            assert.ok(encode(more, { codec: name, transactional: false }, codec, crc32c).length > bytesMax)
          }
        }
      }),
    )
  })
})

it('an uncompressed batch gets its records compressed as one block, with a right CRC once it is rewritten', () => {
  const plain = encode(of(50, 200), { codec: 'none', transactional: false }, codec, crc32c)
  for (const name of codecs.filter(one => one !== 'none')) {
    const made = compressed(plain, name, codec)
    rewrite(made, { producerId: 1n, producerEpoch: 0, sequence: 5, transactional: false }, null, crc32c)
    const header = readHeader(made)
    assert.equal(codecOf(header.attributes), name)
    assert.equal(header.crc, crc32c(made.subarray(21)))
    assert.ok(made.length < plain.length / 5)
    assert.deepEqual(made.subarray(23, 43), plain.subarray(23, 43))
    assert.deepEqual(
      opened(made).map(r => r.value),
      of(50, 200).map(r => r.value),
    )
  }
})
