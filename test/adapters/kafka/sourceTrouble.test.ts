import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerLateMs, fetchWaitMaxMs } from '../../../engine/limits.ts'
import { manualClock } from '../../fakes/clock.ts'
import { batchOf, valuesOf } from '../../fakes/kafka/batches.ts'
import { fakeKafka } from '../../fakes/kafka/cluster.ts'

test('a source that is there and says nothing is trouble a few seconds later, until it answers; an idle one is none', async () => {
  const clock = manualClock()
  const fake = fakeKafka({ clock })
  fake.topic('t', 1)
  const part = { topic: 't', partition: 0 }
  const stream = fake
    .source({ isolation: 'read_committed', rack: null })
    .open({ ...part, topicId: fake.topicIdOf('t') }, { offset: 0n, epoch: -1 })
  const values: string[] = []
  const stop = new AbortController()
  const reading = (async () => {
    for (;;) {
      const answer = await stream.next(stop.signal)
      if (answer.is !== 'batches') continue
      for (const batch of answer.batches) {
        values.push(...valuesOf(batch))
        batch.release()
      }
    }
  })()
  await clock.advance(10 * answerLateMs)
  assert.equal(stream.trouble(), null)

  const release = fake.holdAnswers(0, 'Fetch')
  await clock.advance(fetchWaitMaxMs + answerLateMs - 1_000)
  assert.equal(stream.trouble(), null)
  await clock.advance(2_000)
  assert.equal(stream.trouble()?.code, 'kafka-unreachable')

  fake.write(part, batchOf(['a']))
  release()
  await clock.until(() => values.length === 1)
  assert.equal(stream.trouble(), null)
  stop.abort()
  await assert.rejects(reading)
  stream.close()
  await fake.close()
})
