import assert from 'node:assert/strict'
import { test } from 'node:test'
import { batchOf } from '../fakes/kafka/batches.ts'
import { mirrorOf } from './mirrorOf.ts'

test('a source topic that is deleted while it is copied is told once, and its checkpoint is missed by nobody', async () => {
  const mirror = mirrorOf({ brokers: 1, spec: { topics: { include: ['t', 'other'], refreshMs: 1_000 } } })
  for (const topic of ['t', 'other']) {
    for (const cluster of [mirror.east, mirror.west]) cluster.topic(topic)
    mirror.east.write({ topic, partition: 0 }, batchOf(['one']))
  }
  await mirror.start()
  await mirror.clock.until(() => mirror.report()?.records === 2)
  mirror.east.deleteTopic('t')
  await mirror.clock.until(() => mirror.events.some(event => event.code === 'source-topic-deleted'))
  await mirror.clock.until(() => [...mirror.units()].length === 1)
  assert.deepEqual(
    mirror.report()?.topics.map(({ topic, state }) => [topic, state]),
    [['other', 'running']],
  )
  await mirror.stop()
  assert.deepEqual(
    mirror.events.map(({ code, topic }) => [code, topic]),
    [['source-topic-deleted', 't']],
  )
})
