import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryAccount } from '../../../engine/adapters/kafka/slab.ts'
import { memoryBytesMax, slabBytes } from '../../../engine/limits.ts'
import type { Outcome, Stream } from '../../../engine/ports/kafka.ts'
import { manualClock } from '../../fakes/clock.ts'
import { batchOf, batchOfBytes, loose } from '../../fakes/kafka/batches.ts'
import { fakeKafka } from '../../fakes/kafka/cluster.ts'

const MiB = 1024 * 1024
const never = new AbortController().signal
const start = { offset: 0n, epoch: -1 }
const tenMinutesMs = 600_000

/** Brokers of eight partitions each, whose every answer is 8 MiB; all of them being read, nothing taken. */
async function flooded(brokers: number) {
  const clock = manualClock()
  const fake = fakeKafka({ clock, brokers, account: new MemoryAccount({ bytesMax: memoryBytesMax, poison: true }) })
  const { topicId } = fake.topic('t', 8 * brokers)
  const batch = batchOfBytes(MiB - 128)
  const source = fake.source({ isolation: 'read_uncommitted', rack: null })
  const streams: Stream[] = []
  for (let partition = 0; partition < 8 * brokers; partition++) {
    fake.log({ topic: 't', partition }).endless(batch)
    streams.push(source.open({ topic: 't', partition, topicId }, start))
  }
  return { clock, fake, streams }
}

/** Releases all that a frame of one broker brought. */
async function takeFrame(streams: Stream[], broker: number, brokers: number): Promise<void> {
  for (let i = broker; i < streams.length; i += brokers) {
    const answer = await streams[i]?.next(never)
    assert.equal(answer?.is, 'batches')
    if (answer?.is === 'batches') for (const one of answer.batches) one.release()
  }
}

test('KAFKA 9: of six endless brokers four slabs are held, the other sockets wait unread without a time-out', async () => {
  const { clock, fake, streams } = await flooded(6)
  await clock.advance(5_000)
  assert.equal(fake.account.heldBytes, 4 * slabBytes)
  const waiting = fake.account.waiting
  assert.ok(waiting >= 2)
  assert.equal(fake.brokers.pausedSockets, waiting)
  const fetches = fake.counts().fetches
  const connections = fake.brokers.connections
  await clock.advance(tenMinutesMs)
  assert.equal(fake.counts().fetches, fetches)
  assert.equal(fake.brokers.connections, connections)
  assert.equal(fake.account.heldBytes, 4 * slabBytes)

  await takeFrame(streams, 0, 6)
  await clock.advance(5_000)
  assert.equal(fake.account.heldBytes, 4 * slabBytes)
  assert.equal(fake.account.waiting, waiting - 1)
  assert.equal(fake.counts().fetches, fetches)
  assert.equal(fake.brokers.fetchesWhileWaiting, 0)
  assert.deepEqual(streams.map(stream => stream.trouble()).filter(Boolean), [])
  await fake.close()
})

test('KAFKA 9: produce answers are read while the account is full', async () => {
  const { clock, fake } = await flooded(6)
  await clock.advance(5_000)
  fake.topic('other')
  const outcomes: Outcome<number>[] = []
  const lane = fake.sink.open<number>(
    { topic: 'other', partition: 0, topicId: '' },
    () => true,
    o => outcomes.push(o),
  )
  lane.send(loose(batchOf(['a'])), 1)
  await clock.advance(1_000)
  assert.deepEqual(outcomes, [{ is: 'acked', tag: 1, baseOffset: 0n }])
  assert.equal(fake.account.heldBytes, 4 * slabBytes)
  await fake.close()
})

test('KAFKA 9: all goes on when memory comes back', async () => {
  const { clock, fake, streams } = await flooded(6)
  await clock.advance(5_000)
  let taken = 0
  const stop = new AbortController()
  const reading = streams.map(async stream => {
    while (!stop.signal.aborted) {
      const answer = await stream.next(stop.signal).catch(() => null)
      if (answer?.is !== 'batches') return
      for (const one of answer.batches) one.release()
      taken += answer.batches.length
      assert.ok(fake.account.heldBytes <= memoryBytesMax)
    }
  })
  await clock.until(() => taken >= 400)
  stop.abort()
  await Promise.all(reading)
  await fake.close()
})

test('KAFKA 9: a thousand idle long polls hold nothing', async () => {
  const clock = manualClock()
  const fake = fakeKafka({ clock, brokers: 1_000 })
  const { topicId } = fake.topic('t', 1_000)
  const source = fake.source({ isolation: 'read_committed', rack: null })
  for (let partition = 0; partition < 1_000; partition++) source.open({ topic: 't', partition, topicId }, start)
  await clock.until(() => fake.counts().fetches >= 2_000)
  assert.equal(fake.account.heldBytes, 0)
  assert.equal(fake.account.waiting, 0)
  await fake.close()
})

test('KAFKA 9: one frame of 70 MiB passes alone', async () => {
  const { clock, fake, streams } = await flooded(2)
  const { topicId } = fake.topic('huge')
  const batch = batchOfBytes(70 * MiB)
  fake.write({ topic: 'huge', partition: 0 }, batch)
  for (const i of streams.keys()) if (i % 2 === 0) streams[i]?.close()
  const huge = fake
    .source({ isolation: 'read_uncommitted', rack: null })
    .open({ topic: 'huge', partition: 0, topicId }, start)
  let held = 0
  const stop = new AbortController()
  const others = streams.map(async (stream, i) => {
    while (i % 2 === 1) {
      const answer = await stream.next(stop.signal).catch(() => null)
      if (answer?.is !== 'batches') return
      for (const one of answer.batches) one.release()
    }
  })
  const answer = huge.next(never)
  let came = false
  void answer.then(() => {
    came = true
    held = fake.account.heldBytes
  })
  await clock.until(() => came)
  const given = await answer
  assert.ok(given.is === 'batches')
  assert.equal(given.batches[0]?.bytes.length, batch.length)
  assert.ok(held > batch.length && held < batch.length + 1_000, `${held} held: no other frame beside it`)
  await clock.advance(5_000)
  assert.equal(fake.account.heldBytes, held)
  for (const one of given.batches) one.release()
  const fetches = fake.counts().fetches
  await clock.until(() => fake.counts().fetches > fetches + 5)
  stop.abort()
  await Promise.all(others)
  await fake.close()
})
