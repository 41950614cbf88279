import '../properties.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { codec, crc32c } from '../../engine/adapters/kafka/native.ts'
import { dropAborted } from '../../engine/batch/aborted.ts'
import { encode } from '../../engine/batch/encode.ts'
import { at, control, transactional } from '../../engine/batch/header.ts'
import { resealed } from './arbitrary.ts'
import { batchOf } from './vectors.ts'

type Piece = { producer: number | null; marker: 'abort' | 'commit' | null; count: number }

/** The batches of these pieces, one after the other from offset `first` on; `producer` null = not transactional. */
function batchesOf(pieces: readonly Piece[], first = 0) {
  let offset = first
  return pieces.map(({ producer, marker, count }) => {
    const key = marker ? Buffer.from([0, 0, 0, marker === 'abort' ? 0 : 1]) : null
    const bytes = encode(
      [{ timestamp: 0n, key, value: null, headers: [] }],
      { codec: 'none', transactional: false },
      codec,
      crc32c,
    )
    bytes.writeBigInt64BE(BigInt(offset), at.baseOffset)
    bytes.writeBigInt64BE(BigInt(producer ?? -1), at.producerId)
    const attributes = (producer === null ? 0 : transactional) | (marker ? control : 0)
    resealed(bytes, { attributes, lastOffsetDelta: count - 1 }, crc32c)
    offset += count
    return batchOf(bytes)
  })
}

const of = (producer: number | null, count: number): Piece => ({ producer, marker: null, count })
const marker = (producer: number, kind: 'abort' | 'commit'): Piece => ({ producer, marker: kind, count: 1 })

/** Which records are aborted, slowly: every transaction's fate is the next marker of its producer. */
function slowly(pieces: readonly Piece[]) {
  const fates = pieces.map(({ producer, marker: kind }, i) => {
    if (kind !== null) return 'control'
    const end = pieces.slice(i).find(later => later.producer === producer && later.marker !== null)
    return producer !== null && end?.marker === 'abort' ? 'drop' : 'keep'
  })
  const offsets = pieces.map((_, i) => pieces.slice(0, i).reduce((sum, piece) => sum + piece.count, 0))
  return { fates, offsets }
}

describe('the batches of aborted transactions', () => {
  it('MIRROR 1: are those that the list and the markers say (V-3)', () => {
    const pieces = [
      of(1, 10),
      of(2, 10),
      of(null, 10),
      marker(1, 'abort'),
      of(1, 10),
      marker(2, 'commit'),
      marker(1, 'commit'),
      of(2, 8),
      marker(2, 'abort'),
    ]
    const aborted = [
      { producerId: 1n, firstOffset: 0n },
      { producerId: 2n, firstOffset: 43n },
    ]
    const verdicts = ['drop', 'keep', 'keep', 'control', 'keep', 'control', 'control', 'drop', 'control']
    assert.deepEqual(dropAborted(batchesOf(pieces), aborted), verdicts)
    assert.deepEqual(dropAborted(batchesOf(pieces), aborted.toReversed()), verdicts)
  })

  it('are found in an answer that begins anywhere, with the list of its own range', () => {
    const piece = fc.oneof(
      {
        weight: 3,
        arbitrary: fc.record({
          producer: fc.constantFrom(null, 1, 2, 3),
          marker: fc.constant(null),
          count: fc.integer({ min: 1, max: 3 }),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          producer: fc.constantFrom(1, 2, 3),
          marker: fc.constantFrom('abort' as const, 'commit' as const),
          count: fc.constant(1),
        }),
      },
    )
    const property = fc.property(fc.array(piece, { maxLength: 30 }), fc.nat(30), (pieces, skip) => {
      const { fates, offsets } = slowly(pieces)
      const from = Math.min(skip, pieces.length)
      const answer = batchesOf(pieces).slice(from)
      assert.deepEqual(dropAborted(answer, listOf(pieces, offsets, from)), fates.slice(from))
    })
    fc.assert(property, { numRuns: 1_000 })
  })

  it('end at one marker, also when the list names two transactions before it', () => {
    const aborted = [
      { producerId: 1n, firstOffset: 0n },
      { producerId: 1n, firstOffset: 5n },
    ]
    const verdicts = dropAborted(batchesOf([of(1, 10), marker(1, 'abort'), of(1, 3)]), aborted)
    assert.deepEqual(verdicts, ['drop', 'control', 'keep'])
  })

  it('are not ended by a control batch that compaction has emptied', () => {
    const batches = batchesOf([of(1, 1), marker(1, 'abort'), of(1, 1)])
    const emptied = batches[1]
    if (emptied) emptied.header.recordsCount = 0
    assert.deepEqual(dropAborted(batches, [{ producerId: 1n, firstOffset: 0n }]), ['drop', 'control', 'drop'])
  })
})

/** What a broker lists: aborted transactions that have not ended before the answer begins. */
function listOf(pieces: readonly Piece[], offsets: readonly number[], from: number) {
  const list: { producerId: bigint; firstOffset: bigint }[] = []
  const begun = new Map<number, number>()
  pieces.forEach(({ producer, marker: kind }, i) => {
    if (producer === null) return
    if (kind === null) {
      if (!begun.has(producer)) begun.set(producer, offsets[i] ?? 0)
      return
    }
    const firstOffset = begun.get(producer)
    begun.delete(producer)
    if (kind === 'abort' && i >= from && firstOffset !== undefined)
      list.push({ producerId: BigInt(producer), firstOffset: BigInt(firstOffset) })
  })
  return list
}
