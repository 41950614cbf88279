import assert from 'node:assert/strict'
import { test } from 'node:test'
import { batchOf } from '../fakes/kafka/batches.ts'
import { mirrorOf } from './mirrorOf.ts'

const lost = { topic: 't', partition: 1 }

test('without the loop guard nothing is written beside the copies, and a partition whose checkpoint is lost begins at its log start (M-22)', async () => {
  const mirror = mirrorOf({ brokers: 1, spec: { loopGuard: 'off', start: 'latest' } })
  const { clock, east, west, events } = mirror
  for (const cluster of [east, west]) cluster.topic('t', 2)
  for (let n = 0; n < 3; n++) east.write(lost, batchOf(['before']))
  await mirror.start()
  await clock.until(() => east.stored('millrace.flow').get('t/1')?.offset === 3n)
  east.write(lost, batchOf(['while it runs']))
  await clock.until(() => east.stored('millrace.flow').get('t/1')?.offset === 4n)
  await mirror.stop()
  assert.equal(west.log(lost).batches.length, 1)
  assert.equal(west.counts().adminWrites, 0)

  east.brokers.state.groups.get('millrace.flow')?.delete('t/1')
  await mirror.start()
  await clock.until(() => west.log(lost).batches.length === 5)
  assert.deepEqual(events, [])
  await mirror.stop()
  const { topics } = await mirror.over(west.admin.look('all'))
  assert.deepEqual(
    topics.map(({ topic }) => topic),
    ['t'],
  )
})
