import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Answer } from '../../../engine/ports/kafka.ts'
import { manualClock } from '../../fakes/clock.ts'
import { batchOf, valuesOf } from '../../fakes/kafka/batches.ts'
import { fakeKafka } from '../../fakes/kafka/cluster.ts'

const never = new AbortController().signal
const start = { offset: 0n, epoch: -1 }

test('a fault of one partition does not make the others of its answer come twice', async () => {
  const clock = manualClock()
  const fake = fakeKafka({ clock })
  const { topicId } = fake.topic('t', 2)
  const source = fake.source({ isolation: 'read_committed', rack: null })
  const streams = [0, 1].map(partition => source.open({ topic: 't', partition, topicId }, start))
  await clock.until(() => fake.counts().fetches > 2)
  const values: string[] = []
  const reading = (async () => {
    while (values.length < 60) {
      const answer = await streams[1]?.next(never)
      if (answer?.is !== 'batches') continue
      for (const batch of answer.batches) {
        values.push(...valuesOf(batch))
        batch.release()
      }
    }
  })()
  for (let i = 0; i < 60; i++) {
    fake.write({ topic: 't', partition: 1 }, batchOf([`v${i}`]))
    // The answer is read and the next question is on its way: it meets the new epoch and the next record at once.
    await clock.settle()
    if (i % 2 === 0) fake.log({ topic: 't', partition: 0 }).newEpoch()
    else await clock.advance(i % 3 === 0 ? 20 : 700)
  }
  await clock.until(() => values.length >= 60)
  await reading
  assert.deepEqual(
    values,
    Array.from({ length: 60 }, (_, i) => `v${i}`),
  )
  await fake.close()
})

test('a damaged batch that is fetched again does not hide that the log was cut meanwhile', async () => {
  const clock = manualClock()
  const fake = fakeKafka({ clock })
  const { topicId } = fake.topic('t')
  const part = { topic: 't', partition: 0 }
  for (const value of ['a', 'b', 'c']) fake.write(part, batchOf([value]))
  const stream = fake.source({ isolation: 'read_committed', rack: null }).open({ ...part, topicId }, start)
  const first = stream.next(never)
  await clock.advance(100)
  assert.equal((await first).is, 'batches')
  fake.corruptNextBatch(part, 3n)
  fake.write(part, batchOf(['d']))
  await clock.settle()
  // The damaged one is asked for again, from a log that has lost it and two before it.
  const again = stream.next(never)
  fake.truncate(part, 1n)
  await clock.advance(600)
  const answer = await again
  assert.deepEqual(answer, { is: 'diverged', offset: 1n, epoch: 0 })
  await fake.close()
})

test('KAFKA 22: after a throttled answer nothing is asked before its time, and it is no news of the log', async () => {
  const clock = manualClock()
  const fake = fakeKafka({ clock })
  const { topicId } = fake.topic('t')
  const stream = fake
    .source({ isolation: 'read_committed', rack: null })
    .open({ topic: 't', partition: 0, topicId }, start)
  const first = stream.next(never)
  await clock.until(() => fake.counts().fetches > 2)
  await first
  let answer: Answer | null = null
  const next = stream.next(never).then(one => {
    answer = one
  })
  fake.throttleNextFetch(7_000)
  await clock.advance(600)
  const { fetches } = fake.counts()
  fake.write({ topic: 't', partition: 0 }, batchOf(['late']))
  await clock.advance(6_000)
  assert.equal(fake.counts().fetches, fetches)
  assert.equal(answer, null)
  assert.equal(stream.trouble(), null)
  await clock.advance(1_000)
  await next
  const given = answer as Answer | null
  assert.ok(given?.is === 'batches')
  assert.deepEqual(given.batches.flatMap(valuesOf), ['late'])
  for (const batch of given.batches) batch.release()
  stream.close()
  await fake.close()
})
