import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Measured } from '../../engine/flow/contract.ts'
import { noOverlay } from '../../engine/flow/overlay.ts'
import { unitForgottenMs, unitLookMs, unitRateMs } from '../../engine/limits.ts'
import { batchOf } from '../fakes/kafka/batches.ts'
import { mirrorOf } from './mirrorOf.ts'
import { limitTo } from './oddPartition.ts'

const part = { topic: 't', partition: 0 }

function started(partitions = 1) {
  const mirror = mirrorOf({ brokers: 1 })
  for (const cluster of [mirror.east, mirror.west]) cluster.topic('t', partitions)
  const measured = (): Measured[] => [...(mirror.worker()?.measured(mirror.clock.nowMs()) ?? [])]
  return { ...mirror, measured }
}

test('a worker reports the rate of the last seconds of each unit, and its lag', async () => {
  const { clock, east, start, stop, measured, report } = started(2)
  await start()
  await clock.advance(unitLookMs)
  const begun = clock.nowMs()
  const batch = batchOf(['a', 'b'])
  for (let ms = 0; ms < 3 * unitRateMs; ms += 1_000) {
    east.write(part, batch)
    await clock.advance(1_000)
  }
  const [one, other] = measured()
  const bytes = report()?.bytes ?? 0
  const perSecond = (bytes * 1_000) / (clock.nowMs() - begun)
  assert.ok(perSecond > 0 && one !== undefined)
  assert.ok(Math.abs(one.bytesPerSecond - perSecond) <= 0.1 * perSecond, `${one.bytesPerSecond}, not ${perSecond}`)
  assert.deepEqual({ ...one, bytesPerSecond: 0, sinceMs: 0 }, { ...plain, unit: 't/0' })
  assert.deepEqual({ ...other, sinceMs: 0 }, { ...plain, unit: 't/1' })
  // What has ended is no rate any more.
  await clock.advance(2 * unitRateMs + unitLookMs)
  assert.equal(measured()[0]?.bytesPerSecond, 0)
  await stop()
})

test('a unit that failed is reported with its code, its offset and since when, also while it waits for its next try', async () => {
  const { clock, east, west, start, stop, measured } = started()
  limitTo(west, 200)
  east.write(part, batchOf(['a']))
  east.write(part, batchOf(['x'.repeat(1_000)]))
  await start()
  await clock.until(() => measured()[0]?.state === 'error')
  const sinceMs = clock.nowMs()
  assert.deepEqual(measured(), [
    { ...plain, ...measured()[0], unit: 't/0', state: 'error', code: 'record-too-large', offset: 1n, lagRecords: 1 },
  ])
  await clock.advance(30_000)
  const [later] = measured()
  assert.deepEqual([later?.code, later?.offset], ['record-too-large', 1n])
  assert.ok(later && later.sinceMs <= sinceMs)
  await stop()
})

test('a unit that has no position yet is reported as one that waits', async () => {
  const { clock, east, begin, stop, measured } = started()
  const look = east.admin.look.bind(east.admin)
  const gate = Promise.withResolvers<void>()
  // Only who places a unit asks for its topic by name.
  east.admin.look = async topics => {
    if (topics.includes('t')) await gate.promise
    return await look(topics)
  }
  begin()
  await clock.until(() => measured().length === 1)
  assert.deepEqual({ ...measured()[0], sinceMs: 0 }, { ...plain, unit: 't/0', state: 'waiting', lagRecords: null })
  gate.resolve()
  await clock.until(() => measured()[0]?.state === 'running')
  assert.equal(measured().length, 1)
  await stop()
})

test('a unit that has left is not reported, and is forgotten after a day unless it is paused', async () => {
  const { clock, start, stop, measured, worker, change } = started()
  await start()
  const unit = worker()?.units.get('t/0')
  assert.ok(unit)
  /** As if it had left so long ago: a day of a worker's looks takes long here too. */
  const leftFor = async (ms: number) => {
    await clock.until(() => measured().length === 0)
    unit.leftMs = clock.nowMs() - ms
    await clock.advance(unitLookMs)
    return worker()?.units.size
  }
  change({ overlay: { ...noOverlay, paused: '*' } })
  assert.equal(await leftFor(unitForgottenMs), 1)
  change({ overlay: noOverlay })
  await clock.until(() => measured().length === 1)
  change({ spec: { topics: { include: ['other'], refreshMs: 1_000 } } })
  assert.equal(await leftFor(unitForgottenMs - 2 * unitLookMs), 1)
  assert.equal(await leftFor(unitForgottenMs), 0)
  await stop()
})

const plain: Omit<Measured, 'unit'> = {
  ...{ bytesPerSecond: 0, lagRecords: 0, state: 'running', code: null, offset: null, sinceMs: 0 },
}
