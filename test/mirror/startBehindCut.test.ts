import assert from 'node:assert/strict'
import { test } from 'node:test'
import { batchOf, valuesOf } from '../fakes/kafka/batches.ts'
import { mirrorOf } from './mirrorOf.ts'

test('a log that was cut and has grown again while nobody read is copied from where it parted', async () => {
  const mirror = mirrorOf({ brokers: 1 })
  const { clock, east, west, events } = mirror
  for (const cluster of [east, west]) cluster.topic('t')
  const part = { topic: 't', partition: 0 }
  const copied = () => west.log(part).batches.flatMap(valuesOf)
  for (const value of ['a', 'b', 'c', 'd', 'e', 'f']) east.write(part, batchOf([value]))
  await mirror.start()
  await clock.until(() => copied().length === 6)
  await mirror.stop()
  east.truncate(part, 2n)
  for (const value of ['x', 'y']) east.write(part, batchOf([value]))
  await mirror.start()
  await clock.until(() => copied().length === 8)
  assert.deepEqual(copied(), ['a', 'b', 'c', 'd', 'e', 'f', 'x', 'y'])
  const cut = events.find(event => event.code === 'source-truncated')
  assert.deepEqual([cut?.from, cut?.to], [2n, 6n])
  await mirror.stop()
})
