import '../../properties.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  type CompareBounds,
  compareStreams,
  emptyTally,
  endDestination,
  endSource,
  type SeenRecord,
  type Tally,
  takeDestination,
  takeSource,
  verdictOf,
  wants,
} from '../../../engine/mirror/decide/compareStreams.ts'

type Sides = { source: string[]; destination: string[] }

/** Compares two texts, one record a word, read in pieces of `piece` records. Offsets are indexes, from the log starts on. */
function compared(
  sides: Sides,
  more: Partial<CompareBounds> & { piece?: number } = {},
): Tally & { remembered: number } {
  const { piece = 2, ...given } = more
  const end = (given.sourceStart ?? 0n) + BigInt(sides.source.length)
  const bounds = { sourceTo: end, sourceStart: 0n, destinationStart: 0n, lookAheadRecords: 100, ...given }
  const tally = emptyTally()
  const c = compareStreams(bounds, tally)
  const at = { source: 0, destination: 0 }
  let remembered = 0
  for (let want = wants(c); want !== 'nothing'; want = wants(c)) {
    const start = want === 'source' ? bounds.sourceStart : bounds.destinationStart
    const records: SeenRecord[] = sides[want]
      .slice(at[want], at[want] + piece)
      .map((digest, i) => ({ offset: start + BigInt(at[want] + i), digest }))
    at[want] += records.length
    if (records.length === 0) want === 'source' ? endSource(c) : endDestination(c)
    else if (want === 'source') takeSource(c, records, start + BigInt(at[want]))
    else takeDestination(c, records)
    let window = 0
    for (let entry = c.oldest; entry; entry = entry.next) window++
    remembered = Math.max(remembered, window)
  }
  return { ...tally, remembered }
}

const words = (text: string) => text.split(' ').filter(word => word !== '')
const counts = (tally: Tally) => {
  const { records, destinationRecords, equal, repeated, missing, extra, expired, outOfOrder } = tally
  return { records, destinationRecords, equal, repeated, missing, extra, expired, outOfOrder }
}
const zero = counts(emptyTally())

describe('comparing two streams of records', () => {
  it('finds alike what is alike, however it is cut', () => {
    for (const piece of [1, 2, 3, 100]) {
      const tally = compared({ source: words('a b c d e'), destination: words('a b c d e') }, { piece })
      assert.deepEqual(counts(tally), { ...zero, records: 5, destinationRecords: 5, equal: 5 })
      assert.equal(verdictOf(tally), 'equal')
    }
    assert.equal(verdictOf(compared({ source: [], destination: [] })), 'equal')
  })

  it('counts each of several records that are alike', () => {
    const same = compared({ source: words('a a b a'), destination: words('a a b a') })
    assert.deepEqual(counts(same), { ...zero, records: 4, destinationRecords: 4, equal: 4 })
    const fewer = compared({ source: words('a a b a'), destination: words('a a b') })
    assert.deepEqual([fewer.equal, fewer.missing, fewer.firstMissing], [3, 1, 3n])
    const more = compared({ source: words('a a b'), destination: words('a a b a') })
    assert.deepEqual([more.equal, more.repeated, verdictOf(more)], [3, 1, 'repeated'])
  })

  it('tells a repeat after a crash from a record that was never at the source', () => {
    const tally = compared({ source: words('a b c d'), destination: words('a b c b c d') })
    assert.deepEqual(counts(tally), { ...zero, records: 4, destinationRecords: 6, equal: 4, repeated: 2 })
    assert.equal(verdictOf(tally), 'repeated')
    const strange = compared({ source: words('a b c d'), destination: words('a b x c d') })
    assert.deepEqual([strange.equal, strange.extra, strange.firstExtra, verdictOf(strange)], [4, 1, 2n, 'different'])
  })

  it('names the first missing and the first extra offset', () => {
    const tally = compared({ source: words('a b c d e f'), destination: words('a b d x f y') })
    assert.deepEqual(counts(tally), { ...zero, records: 6, destinationRecords: 6, equal: 4, missing: 2, extra: 2 })
    assert.deepEqual([tally.firstMissing, tally.firstExtra], [2n, 3n])
  })

  it('counts a record that came too late, and calls another order different', () => {
    const tally = compared({ source: words('a b c d'), destination: words('a c b d') })
    assert.deepEqual(counts(tally), { ...zero, records: 4, destinationRecords: 4, equal: 4, outOfOrder: 1 })
    assert.equal(verdictOf(tally), 'different')
  })

  it('looks no further ahead than it may', () => {
    const source = words('a b c d e f g h')
    const near = compared({ source, destination: words('e f g h') }, { piece: 1, lookAheadRecords: 5 })
    assert.deepEqual([near.equal, near.missing, near.extra], [4, 4, 0])
    const far = compared({ source, destination: words('h') }, { piece: 1, lookAheadRecords: 5 })
    assert.deepEqual([far.equal, far.missing, far.extra], [0, 8, 1])
  })

  it('takes what lies before the first record of a shortened destination for expired, within what its log lost', () => {
    const source = words('a b c d e f g h')
    const tally = compared({ source, destination: words('e f g h') }, { destinationStart: 4n, lookAheadRecords: 2 })
    assert.deepEqual(counts(tally), { ...zero, records: 8, destinationRecords: 4, equal: 4, expired: 4 })
    assert.equal(verdictOf(tally), 'equal')
    const lost = compared({ source, destination: words('e f g h') }, { destinationStart: 3n })
    assert.deepEqual([lost.expired, lost.missing, lost.firstMissing], [3, 1, 3n])
    const all = compared({ source, destination: [] }, { destinationStart: 8n })
    assert.deepEqual([all.expired, verdictOf(all)], [8, 'equal'])
  })

  it('knows of records that are alike that the earlier ones have expired', () => {
    const tally = compared({ source: words('a x x x b'), destination: words('x b') }, { destinationStart: 3n })
    assert.deepEqual([tally.equal, tally.expired, verdictOf(tally)], [2, 3, 'equal'])
    const lost = compared({ source: words('a x b x x'), destination: words('x b') }, { destinationStart: 3n })
    assert.deepEqual([lost.equal, lost.expired, lost.missing], [2, 1, 2])
  })

  it("takes what the source's log has lost for expired on the other side", () => {
    const sides = { source: words('c d'), destination: words('a b c d') }
    const tally = compared(sides, { sourceStart: 2n })
    assert.deepEqual([tally.equal, tally.expired, verdictOf(tally)], [2, 2, 'equal'])
    const strange = compared({ source: words('c d'), destination: words('a b c x d') }, { sourceStart: 2n })
    assert.deepEqual([strange.expired, strange.extra], [2, 1])
  })

  it('asks nothing of the source from the checkpoint on, but knows its records', () => {
    const sides = { source: words('a b c d e f'), destination: words('a b c d') }
    const tally = compared(sides, { sourceTo: 3n })
    assert.deepEqual(counts(tally), { ...zero, records: 4, destinationRecords: 4, equal: 4 })
    const short = compared({ ...sides, destination: words('a c') }, { sourceTo: 3n })
    assert.deepEqual([short.records, short.missing], [3, 1])
  })

  it('remembers twice its look-ahead at most, whatever the sides are', () => {
    const many = Array.from({ length: 5_000 }, (_, i) => `${i}`)
    for (const destination of [many, [], many.slice(0, 10), many.toReversed(), ['x', ...many.slice(1_000)]]) {
      for (const destinationStart of [0n, 1_000n]) {
        const { remembered } = compared(
          { source: many, destination },
          { piece: 50, lookAheadRecords: 500, destinationStart },
        )
        assert.ok(remembered <= 1_000 + 50, `${remembered}`)
      }
    }
  })

  it('accounts for every record of both sides', () => {
    const letters = fc.array(fc.constantFrom(...'abcdef'), { maxLength: 30 })
    fc.assert(
      fc.property(letters, letters, fc.integer({ min: 1, max: 7 }), (source, destination, piece) => {
        const tally = compared({ source, destination }, { piece })
        assert.equal(tally.equal + tally.missing, source.length)
        assert.equal(tally.equal + tally.repeated + tally.extra, destination.length)
        const both = [...'abcdef'].map(letter => {
          const [s, d] = [source, destination].map(side => side.filter(one => one === letter).length)
          return Math.min(s ?? 0, d ?? 0)
        })
        assert.equal(
          tally.equal,
          both.reduce((sum, one) => sum + one, 0),
        )
      }),
    )
  })
})
