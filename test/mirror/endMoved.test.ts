import assert from 'node:assert/strict'
import { test } from 'node:test'
import { batchOf, valuesOf } from '../fakes/kafka/batches.ts'
import { mirrorOf } from './mirrorOf.ts'

const part = { topic: 't', partition: 0 }

test('a copy until the end ends where the log ends after it was cut below the end that was seen', async () => {
  const mirror = mirrorOf({ brokers: 2, untilEnd: true })
  const { east, west, clock, events } = mirror
  east.topic('t', 1)
  west.topic('t', 1)
  for (let n = 0; n < 20; n++) east.write(part, batchOf([`${n}`]))
  const release = [0, 1].map(broker => east.holdAnswers(broker, 'Fetch'))
  await mirror.start()
  await clock.until(() => [...mirror.units()].length === 1)
  east.truncate(part, 5n)
  for (const let_go of release) let_go()
  const report = await mirror.ended()
  assert.deepEqual(west.log(part).batches.flatMap(valuesOf).slice(0, 5), ['0', '1', '2', '3', '4'])
  assert.deepEqual([report.whole, report.lagRecords], [true, 0])
  assert.ok(events.every(event => event.state !== 'error'))
})
