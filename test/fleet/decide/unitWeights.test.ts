import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StatsDoc } from '../../../engine/fleet/decide/documents/stats.ts'
import { unitWeights } from '../../../engine/fleet/decide/unitWeights.ts'

function stats(rows: Record<string, [bytesPerSecond: number | null, lagRecords: number | null]>): StatsDoc {
  const of = Object.entries(rows).map(
    ([unit, [bytesPerSecond, lagRecords]]) =>
      [unit, { bytesPerSecond, lagRecords, state: 'running' as const }] as const,
  )
  return { atMs: 0, of: new Map(of) }
}

test('a unit weighs what it copies, from 30 s after its start, and by a quarter at least (C-56)', () => {
  const weights = unitWeights()
  weights.learn('w', stats({ 'f/t/0': [1_000_000, 0] }), 0)
  assert.equal(weights.weightOf('f/t/0'), 4_096)
  weights.learn('w', stats({ 'f/t/0': [1_000_000, 0] }), 30_000)
  assert.equal(weights.weightOf('f/t/0'), 1_004_096)
  weights.learn('w', stats({ 'f/t/0': [1_200_000, 0] }), 40_000)
  assert.equal(weights.weightOf('f/t/0'), 1_004_096)
  for (let ms = 50_000; ms < 1_000_000; ms += 10_000) weights.learn('w', stats({ 'f/t/0': [null, null] }), ms)
  assert.equal(weights.weightOf('f/t/0'), 1_004_096)
})

test('one that is new weighs as its part does, else as its flow, else as all do (C-56)', () => {
  const weights = unitWeights()
  const rows = { 'f/t/0': [100, 0], 'f/t/1': [200, 0], 'f/t/2': [900, 0], 'f/u/0': [5_000, 0] } as const
  for (const ms of [0, 30_000]) weights.learn('w', stats(rows as never), ms)
  assert.equal(weights.weightOf('f/t/9'), 4_296)
  assert.equal(weights.weightOf('f/v/0'), 4_996)
  assert.equal(weights.weightOf('g/t/0'), 4_996)
  assert.equal(unitWeights().weightOf('g/t/0'), 4_096)
  weights.keep(unit => unit !== 'f/u/0')
  assert.equal(weights.weightOf('f/u/0'), 4_296)
})

test('a unit that stands still with lag while others of its flow go on elsewhere is moved once (C-58)', () => {
  const weights = unitWeights()
  const learn = (ms: number, still: [number, number] = [0, 9]) => {
    weights.learn('a', stats({ 'f/t/0': still, 'f/t/1': [5, 1] }), ms)
    weights.learn('b', stats({ 'f/t/2': [5, 1] }), ms)
  }
  learn(0)
  learn(299_999)
  assert.deepEqual([...weights.stuck(299_999)], [])
  assert.deepEqual([...weights.stuck(300_000)], ['f/t/0'])
  weights.learn('b', stats({ 'f/t/0': [0, 9] }), 310_000)
  weights.learn('b', stats({ 'f/t/0': [0, 9] }), 700_000)
  assert.deepEqual([...weights.stuck(700_000)], [])
  weights.learn('b', stats({ 'f/t/0': [1, 9] }), 710_000)
  weights.learn('b', stats({ 'f/t/0': [0, 9] }), 720_000)
  assert.deepEqual([...weights.stuck(1_100_000)], ['f/t/0'])
  const alone = unitWeights()
  for (const ms of [0, 400_000]) alone.learn('a', stats({ 'f/t/0': [0, 9], 'f/t/1': [5, 0] }), ms)
  assert.deepEqual([...alone.stuck(400_000)], [])
})
