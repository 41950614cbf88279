import assert from 'node:assert/strict'
import { test } from 'node:test'
import { batchOf } from '../fakes/kafka/batches.ts'
import { mirrorOf } from './mirrorOf.ts'

test('a topic that is made anew between the first look and the begin of its unit is copied all the same', async () => {
  const mirror = mirrorOf({ brokers: 1 })
  const part = { topic: 't', partition: 0 }
  for (const cluster of [mirror.east, mirror.west]) cluster.topic('t')
  mirror.east.write(part, batchOf(['old']))
  await mirror.start()
  await mirror.clock.until(() => mirror.report()?.records === 1)
  await mirror.clock.advance(5_000)
  await mirror.stop()

  mirror.begin()
  await mirror.clock.until(() => mirror.report()?.topics.length === 1)
  mirror.east.recreateTopic('t')
  // Kafka forgets the offsets of a topic that is deleted.
  const stored = mirror.east.stored('millrace.flow') as Map<string, unknown>
  assert.ok(stored.delete('t/0'))
  mirror.east.write(part, batchOf(['new']))
  await mirror.clock.until(() => mirror.report()?.records === 1)
  await mirror.stop()
  assert.deepEqual(
    mirror.events.map(event => event.code),
    ['checkpoint-lost', 'topic-recreated'],
  )
})
