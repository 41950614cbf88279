import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryAccount } from '../../../engine/adapters/kafka/slab.ts'
import { readHeader } from '../../../engine/batch/header.ts'
import type { Batch, Outcome } from '../../../engine/ports/kafka.ts'
import { manualClock } from '../../fakes/clock.ts'
import { batchOf } from '../../fakes/kafka/batches.ts'
import { fakeKafka } from '../../fakes/kafka/cluster.ts'

function loose(value: string): Batch {
  const bytes = batchOf([value])
  return { header: readHeader(bytes), bytes, tailCrc: null, retain() {}, release() {} }
}

test('partitions whose back-offs end at different times are each sent again', async () => {
  const clock = manualClock()
  const kafka = fakeKafka({ clock })
  kafka.topic('t', 3)
  // NOT_ENOUGH_REPLICAS once, twice and thrice: the waits grow apart.
  for (const partition of [0, 1, 2])
    for (let n = 0; n <= partition; n++) kafka.failNextProduce({ topic: 't', partition }, 19)
  const outcomes: Outcome<number>[] = []
  const lanes = [0, 1, 2].map(partition =>
    kafka.sink.open<number>(
      { topic: 't', partition, topicId: '' },
      () => true,
      outcome => void outcomes.push(outcome),
    ),
  )
  for (const [i, lane] of lanes.entries()) lane.send(loose('v'), i)
  await clock.until(() => outcomes.length === 3, 5_000)
  assert.deepEqual(
    outcomes.map(o => o.is),
    ['acked', 'acked', 'acked'],
  )
  for (const lane of lanes) lane.close(false)
  await kafka.close()
})

test('questions asked at once of a cluster that nobody knows yet are all answered', async () => {
  const clock = manualClock()
  const kafka = fakeKafka({ clock, brokers: 3 })
  kafka.topic('t', 3)
  const looks = Promise.all(Array.from({ length: 20 }, () => kafka.admin.look(['t'])))
  await clock.advance(1_000)
  assert.equal((await looks).filter(view => view.brokers.length === 3).length, 20)
  await kafka.close()
})

test('when every broker that is known has gone, the addresses of the configuration are asked again', async () => {
  const clock = manualClock()
  const kafka = fakeKafka({ clock, brokers: 2 })
  kafka.topic('t', 2)
  const first = kafka.admin.look(['t'])
  await clock.advance(1_000)
  assert.equal((await first).brokers.length, 2)
  for (const id of [0, 1]) kafka.stopBroker(id)
  const down = assert.rejects(kafka.admin.look(['t']), { name: 'MillraceError', retryable: true })
  await clock.advance(40_000)
  await down
  for (const id of [0, 1]) kafka.startBroker(id)
  const later = kafka.admin.look(['t'])
  await clock.advance(1_000)
  assert.equal((await later).topics[0]?.code, 0)
  await kafka.close()
})

test('topics opened one after another wait for no back-off', async () => {
  const clock = manualClock()
  const kafka = fakeKafka({ clock })
  for (let i = 0; i < 30; i++) kafka.topic(`t${i}`)
  const source = kafka.source({ isolation: 'read_committed', rack: null })
  for (let i = 0; i < 30; i++) {
    const part = { topic: `t${i}`, partition: 0 }
    kafka.write(part, batchOf(['v']))
    const stream = source.open({ ...part, topicId: kafka.topicIdOf(part.topic) }, { offset: 0n, epoch: -1 })
    let came = false
    void stream.next(new AbortController().signal).then(answer => {
      came = answer.is === 'batches'
      if (answer.is === 'batches') for (const batch of answer.batches) batch.release()
    })
    const startMs = clock.nowMs()
    await clock.until(() => came, 5_000)
    // The long poll of the streams before it is under way.
    assert.ok(clock.nowMs() - startMs <= 1_000, `${clock.nowMs() - startMs} ms`)
  }
  await kafka.close()
})

test('a frame that waited for memory and was given up lets the others go on', () => {
  const account = new MemoryAccount({ bytesMax: 1_000 })
  const held = account.count(Buffer.alloc(900))
  let told = 0
  account.whenRoom(() => void told++)
  const asked = account.ask(500, () => assert.fail('it was given up'))
  assert.ok('cancel' in asked)
  assert.equal(account.waiting, 1)
  asked.cancel()
  assert.equal(account.waiting, 0)
  assert.equal(told, 1)
  held.release()
})
