import assert from 'node:assert/strict'
import { test } from 'node:test'
import { acceptAssignment, nextEpoch } from '../../../engine/fleet/decide/assignment.ts'
import { leaseState, leaseTimes, silentSince } from '../../../engine/fleet/decide/lease.ts'
import { decodeRanges, encodeRanges } from '../../../engine/fleet/decide/ranges.ts'
import { average, steadyWeight } from '../../../engine/fleet/decide/weight.ts'

test('COORDINATION 1: ranges are written in one way only, and read as strictly', () => {
  const pairs: [number[], string][] = [
    [[5, 3, 4, 9, 7], '3-5,7,9'],
    [[0, 1], '0-1'],
    [[0, 2, 4, 6], '0,2,4,6'],
    [[2_147_483_647], '2147483647'],
    [[], ''],
    [[...Array(32).keys(), 40], '0-31,40'],
  ]
  for (const [numbers, text] of pairs) {
    assert.equal(encodeRanges(numbers), text)
    assert.deepEqual(
      decodeRanges(text),
      numbers.toSorted((a, b) => a - b),
    )
  }
  for (const text of ['3-3', '5-4', '1,1', '2,1', '01', '0-1,2', '1 ,2', '-1', '2147483648', ',', '1,', '0-']) {
    assert.throws(() => decodeRanges(text), { code: 'state-corrupt' }, text)
  }
})

test('COORDINATION 1: of a session of S the beat, the closing, the fence, the takeover and the look', () => {
  const times = (s: number) => Object.values(leaseTimes(s))
  assert.deepEqual(times(4_000), [800, 2_600, 2_800, 3_000, 200])
  assert.deepEqual(times(10_000), [2_000, 6_500, 7_000, 7_500, 500])
  assert.deepEqual(times(40_000), [8_000, 26_000, 28_000, 30_000, 2_000])
  assert.deepEqual(
    [6_499, 6_500, 6_999, 7_000].map(ms => leaseState(ms, 10_000)),
    ['open', 'closing', 'closing', 'fenced'],
  )
})

test('COORDINATION 1: silence counts from a new beat seen, and only while the leader itself is answered', () => {
  const { takeoverMs } = leaseTimes(10_000)
  const silentAt = (atMs: number, answeredSinceMs: number) =>
    silentSince({ version: 1, atMs }, answeredSinceMs) + takeoverMs
  assert.equal(silentAt(1_000, 0), 8_500)
  assert.equal(silentAt(8_400, 0), 15_900)
  assert.equal(silentAt(1_000, 60_000), 67_500)
})

test('COORDINATION 1: a newer document is applied, the same one is the same, an older one is stale', () => {
  const seen = { epoch: 7, generation: 42 }
  const of = (epoch: number, generation: number) => acceptAssignment(seen, { epoch, generation })
  assert.deepEqual([of(7, 43), of(7, 42), of(7, 41), of(8, 1), of(6, 99)], ['apply', 'same', 'stale', 'apply', 'stale'])
  assert.equal(acceptAssignment(null, { epoch: 1, generation: 1 }), 'apply')
})

test('COORDINATION 1: an epoch is above all that anybody has seen', () => {
  assert.deepEqual(
    [
      nextEpoch(7, 7, [6, 7]),
      nextEpoch(null, 41, []),
      nextEpoch(3, 41, [2]),
      nextEpoch(null, null, [12]),
      nextEpoch(null, null, []),
    ],
    [8, 42, 42, 13, 1],
  )
})

test('COORDINATION 1: weights move slowly, and by a quarter at least', () => {
  assert.deepEqual(
    [average(0, 1_000_000, 10_000), average(0, 1_000_000, 120_000), average(1_000_000, 0, 10_000)],
    [79_956, 632_121, 920_044],
  )
  const pairs: [number | null, number][] = [
    [null, 100],
    [100, 125],
    [100, 126],
    [100, 75],
    [100, 74],
    [0, 1],
  ]
  assert.deepEqual(
    pairs.map(([used, measured]) => steadyWeight(used, measured)),
    [100, 100, 126, 100, 74, 1],
  )
})
