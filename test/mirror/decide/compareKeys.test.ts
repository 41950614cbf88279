import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  compareKeys,
  endPass,
  type KeyBounds,
  type SeenKey,
  takeDestinationKeys,
  takeSourceKeys,
} from '../../../engine/mirror/decide/compareKeys.ts'
import { emptyTally, type Tally, verdictOf } from '../../../engine/mirror/decide/compareStreams.ts'

/** `k=v` is a record, `k=` a tombstone; its offset is its place. */
function records(text: string): SeenKey[] {
  return text
    .split(' ')
    .filter(word => word !== '')
    .map((word, i) => {
      const [key = '', value = ''] = word.split('=')
      return { offset: BigInt(i), key: key.padEnd(3, '\0'), digest: value === '' ? null : value }
    })
}

function compared(
  source: SeenKey[],
  destination: SeenKey[],
  more: Partial<KeyBounds> = {},
): Tally & { passes: number } {
  const tally = emptyTally()
  const bounds = { sourceTo: BigInt(source.length), destinationStart: 0n, keysMax: 1_000, ...more }
  const c = compareKeys(bounds, tally)
  let passes = 0
  do {
    passes++
    takeSourceKeys(c, source)
    takeDestinationKeys(c, destination)
    assert.ok(c.keys.size <= bounds.keysMax)
  } while (endPass(c))
  return { ...tally, passes }
}

describe('comparing the last values of keys', () => {
  it('cares for the last value only, whatever compaction has left of the earlier ones', () => {
    const tally = compared(records('a=1 b=1 a=2 b=2'), records('b=1 a=2 b=2'))
    assert.deepEqual([tally.records, tally.destinationRecords, tally.equal, verdictOf(tally)], [2, 2, 2, 'equal'])
  })

  it('takes a tombstone for no value, for either side may have removed it', () => {
    assert.equal(verdictOf(compared(records('a=1 b=1 a='), records('a=1 b=1 a='))), 'equal')
    assert.equal(verdictOf(compared(records('a= b=1'), records('b=1'))), 'equal')
    assert.equal(verdictOf(compared(records('b=1'), records('a=1 a= b=1'))), 'equal')
    const lost = compared(records('a=1 b=1 a='), records('a=1 b=1'))
    assert.deepEqual([lost.equal, lost.extra, lost.firstExtra], [1, 1, 0n])
  })

  it('calls another value missing and extra, and names both offsets', () => {
    const tally = compared(records('a=1 b=1 c=1'), records('a=1 x=1 b=2'))
    assert.deepEqual([tally.equal, tally.missing, tally.extra], [1, 2, 2])
    assert.deepEqual([tally.firstMissing, tally.firstExtra], [1n, 1n])
    assert.equal(verdictOf(tally), 'different')
  })

  it('leaves out keys that change at the source after the checkpoint', () => {
    const tally = compared(records('a=1 b=1 a=2'), records('b=1'), { sourceTo: 2n })
    assert.deepEqual([tally.records, tally.equal, verdictOf(tally)], [1, 1, 'equal'])
  })

  it('lets keys expire that the destination may have lost at its log start', () => {
    const tally = compared(records('a=1 b=1 c=1'), records('c=1'), { destinationStart: 1n })
    assert.deepEqual([tally.equal, tally.expired, tally.missing], [1, 1, 1])
  })

  it('compares more keys than it may remember in several passes', () => {
    const keys = Array.from({ length: 500 }, (_, i) => String.fromCharCode(i % 251, (i * 7) % 256, (i * 13) % 256))
    const made = (value: string) => keys.map((key, i) => ({ offset: BigInt(i), key, digest: value }))
    const one = compared(made('v'), made('v'))
    const many = compared(made('v'), made('v'), { keysMax: 20 })
    assert.deepEqual([one.equal, one.passes], [500, 1])
    assert.equal(many.equal, 500)
    assert.ok(many.passes >= 25)
  })
})
