import assert from 'node:assert/strict'
import { test } from 'node:test'
import { flowEvents } from '../../engine/fleet/flowEvents.ts'
import { eventFlowsMax, flowEventsMax } from '../../engine/limits.ts'
import { fleetOf } from './controllerOf.ts'

const error = (partition: number, sinceMs: number) => ({
  unit: `f/t/${partition}`,
  code: 'batch-corrupt' as const,
  sinceMs,
  offset: '9007199254740993',
})

test('of each flow the last hundred events are kept, and of flows only those that were heard of last', () => {
  const events = flowEvents()
  for (let i = 0; i < flowEventsMax + 3; i++) events.note('f', { code: 'source-gap', message: `${i}` }, i)
  const kept = events.of('f')
  assert.deepEqual([kept.length, kept[0]?.message, kept.at(-1)?.atMs], [flowEventsMax, '3', flowEventsMax + 2])
  assert.deepEqual(events.of('g'), [])
  for (let i = 0; i < eventFlowsMax; i++) events.note(`f${i}`, { code: 'source-gap', message: '' }, 0)
  assert.deepEqual([events.of('f').length, events.of('f0').length], [0, 1])
})

test('an error that a worker reports is an event once, and again when it is another one', () => {
  const events = flowEvents()
  const report = (...errors: ReturnType<typeof error>[]) => events.reported(new Map([['w', { held: { errors } }]]))
  report(error(0, 5))
  report(error(0, 5), error(1, 6))
  report(error(0, 5), error(1, 6))
  report(error(1, 6))
  report(error(0, 7), error(1, 6))
  assert.deepEqual(
    events.of('f').map(({ partition, atMs, worker, offset }) => [partition, atMs, worker, offset]),
    [0, 1, 0].map((partition, i) => [partition, 5 + i, 'w', 9_007_199_254_740_993n]),
  )
  assert.equal(events.of('f')[0]?.message, 't/0 does not run on w: batch-corrupt at offset 9007199254740993')
})

test('a leader tells of what its workers report', async () => {
  const fleet = fleetOf()
  fleet.declare('f')
  const events = flowEvents()
  const leader = fleet.controller('c1', { reported: events.reported })
  leader.fake.shown.units = ['t/0']
  const worker = fleet.worker('a')
  worker.fake.measured.set('t/0', { state: 'error', code: 'batch-corrupt', offset: 9n, sinceMs: 0 })
  await fleet.clock.until(() => events.of('f').length > 0, 60_000)
  await fleet.clock.advance(30_000)
  assert.deepEqual(
    events.of('f').map(({ code, worker: by }) => [code, by]),
    [['batch-corrupt', 'a']],
  )
})
