import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  answerLateMs,
  linkBackOff,
  produceBytesMax,
  produceGraceMs,
  produceInFlightMax,
  produceTimeoutMs,
  troubleShownAfterMs,
} from '../../../engine/limits.ts'
import type { Lane } from '../../../engine/ports/kafka.ts'
import { manualClock } from '../../fakes/clock.ts'
import { batchOf, batchOfBytes, loose } from '../../fakes/kafka/batches.ts'
import { fakeKafka } from '../../fakes/kafka/cluster.ts'

function opened() {
  const clock = manualClock()
  const fake = fakeKafka({ clock })
  fake.topic('t', 1)
  let acked = 0
  const lanes: Lane<null>[] = []
  const open = (partition: number) => {
    const lane = fake.sink.open<null>(
      { topic: 't', partition, topicId: '' },
      () => true,
      outcome => {
        if (outcome.is === 'acked') acked++
      },
    )
    lanes.push(lane)
    return lane
  }
  const end = async () => {
    for (const lane of lanes) lane.close(true)
    await fake.close()
  }
  return { clock, fake, open, acked: () => acked, end }
}

test('a partition that came after the last metadata is looked for, and says meanwhile that it has no leader', async () => {
  const { clock, fake, open, acked, end } = opened()
  const old = open(0)
  old.send(loose(batchOf(['a'])), null)
  await clock.until(() => acked() === 1)
  const early = open(1)
  early.send(loose(batchOf(['b'])), null)
  await clock.advance(troubleShownAfterMs)
  assert.deepEqual([early.trouble()?.kafka, old.trouble()], [5, null])
  assert.equal(acked(), 1)
  fake.grow('t', 2)
  await clock.until(() => acked() === 2, 2 * linkBackOff.lastMs)
  assert.equal(early.trouble(), null)
  await end()
})

test('a destination that takes connections and never answers is one trouble, whose begin stays over all its links', async () => {
  const { clock, fake, open, acked, end } = opened()
  const lane = open(0)
  lane.send(loose(batchOf(['a'])), null)
  await clock.until(() => acked() === 1)
  const release = fake.holdAnswers(0)
  const beganMs = clock.nowMs()
  lane.send(loose(batchOf(['b'])), null)
  await clock.advance(troubleShownAfterMs)
  for (let ms = 0; ms < 3 * (produceTimeoutMs + produceGraceMs); ms += 500) {
    assert.equal(lane.trouble()?.sinceMs, beganMs, `after ${ms} ms`)
    await clock.advance(500)
  }
  release()
  await clock.until(() => acked() === 2)
  assert.equal(lane.trouble(), null)
  await end()
})

test('a partition that nothing was written of yet is in trouble too while its broker answers nobody', async () => {
  const { clock, fake, open, acked, end } = opened()
  fake.grow('t', 2)
  const [first, behind] = [open(0), open(1)]
  first.send(loose(batchOf(['a'])), null)
  await clock.until(() => acked() === 1)
  const release = fake.holdAnswers(0, 'Produce')
  // Each takes a request of its own, and no more may be open.
  for (let n = 0; n < produceInFlightMax; n++) first.send(loose(batchOfBytes(produceBytesMax)), null)
  await clock.advance(0)
  behind.send(loose(batchOfBytes(1_000)), null)
  await clock.advance(2 * answerLateMs)
  assert.deepEqual([first.trouble()?.code, behind.trouble()?.code], ['kafka-unreachable', 'kafka-unreachable'])
  release()
  await clock.until(() => acked() === produceInFlightMax + 2)
  assert.deepEqual([first.trouble(), behind.trouble()], [null, null])
  await end()
})
