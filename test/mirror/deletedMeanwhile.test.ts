import assert from 'node:assert/strict'
import { test } from 'node:test'
import { batchOf } from '../fakes/kafka/batches.ts'
import { mirrorOf } from './mirrorOf.ts'

function twoTopics(how: { untilEnd?: boolean } = {}) {
  const mirror = mirrorOf({ brokers: 1, ...how, spec: { topics: { include: ['t', 'other'], refreshMs: 1_000 } } })
  for (const topic of ['t', 'other']) {
    for (const cluster of [mirror.east, mirror.west]) cluster.topic(topic)
    mirror.east.write({ topic, partition: 0 }, batchOf(['one']))
  }
  return mirror
}

test('a source topic that was deleted while no process ran is told by the next one, and by none after it', async () => {
  const mirror = twoTopics()
  await mirror.start()
  await mirror.clock.until(() => mirror.report()?.records === 2)
  // The loop guard has to know what was begun.
  await mirror.clock.advance(5_000)
  await mirror.stop()
  mirror.east.deleteTopic('t')

  await mirror.start()
  await mirror.clock.until(() => mirror.events.length > 0)
  await mirror.clock.advance(5_000)
  await mirror.stop()
  await mirror.start()
  await mirror.clock.advance(5_000)
  await mirror.stop()
  assert.deepEqual(
    mirror.events.map(({ code, topic, partitions }) => [code, topic, partitions]),
    [['source-topic-deleted', 't', 1]],
  )
})
