import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codec, crc32c } from '../../engine/adapters/kafka/native.ts'
import { at, logAppendTime, readHeader } from '../../engine/batch/header.ts'
import { records } from '../../engine/batch/records.ts'
import { ownerCommitsMs } from '../../engine/limits.ts'
import { park } from '../../engine/mirror/park.ts'
import { batchOf, marker, valuesOf } from '../fakes/kafka/batches.ts'
import type { FakeKafka } from '../fakes/kafka/cluster.ts'
import { mirrorOf } from './mirrorOf.ts'

const part = { topic: 't', partition: 0 }
const group = 'millrace.flow'

function twoTopics(how: Partial<Parameters<typeof mirrorOf>[0]> = {}, partitions = 1) {
  const mirror = mirrorOf({ brokers: 1, ...how })
  mirror.east.topic('t', partitions)
  mirror.west.topic('t', partitions)
  return mirror
}

const numbered = (from: number, count: number) => batchOf(Array.from({ length: count }, (_, i) => `${from + i}`))

function fill(cluster: FakeKafka, from: number, batches: number, each = 10): void {
  for (let n = 0; n < batches; n++) cluster.write(part, numbered(from + n * each, each))
}

function valuesIn(cluster: FakeKafka, partition = 0): string[] {
  return cluster.log({ topic: 't', partition }).batches.flatMap(valuesOf)
}

function range(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, i) => `${from + i}`)
}

test('a copy until the end stores its checkpoint with both ids, and another one copies nothing', async () => {
  const mirror = twoTopics({ untilEnd: true })
  const { east, west } = mirror
  fill(east, 0, 20)
  await mirror.start()
  const first = await mirror.ended()
  assert.deepEqual([first.whole, first.records, first.lagRecords], [true, 200, 0])
  assert.deepEqual(valuesIn(west), range(0, 200))
  const stored = east.stored(group).get('t/0')
  assert.equal(stored?.offset, 200n)
  const ids = [east, west].map(async cluster => (await mirror.over(cluster.admin.look(['t']))).topics[0]?.topicId)
  const [t, u] = await Promise.all(ids)
  assert.equal(stored?.metadata, `{"v":1,"t":"${t}","u":"${u}","e":${stored?.epoch},"d":200}`)
  await mirror.start()
  assert.equal((await mirror.ended()).records, 0)
  assert.equal(east.account.heldBytes, 0)
})

test('what is written after the start is left for the next copy until the end', async () => {
  const mirror = twoTopics({ untilEnd: true })
  const { east, west } = mirror
  fill(east, 0, 3)
  const release = west.holdAnswers(0, 'Produce')
  await mirror.start()
  await mirror.clock.until(() => [...mirror.units()].length === 1)
  fill(east, 30, 3)
  await mirror.clock.advance(2_000)
  release()
  assert.equal((await mirror.ended()).records, 30)
  assert.deepEqual(valuesIn(west), range(0, 30))
})

test('aborted transactions are skipped and counted once, also when they are read twice', async () => {
  const mirror = twoTopics()
  const { east, west, clock } = mirror
  const release = west.holdAnswers(0, 'Produce')
  fill(east, 0, 8)
  const aborted = { producerId: 7n, transactional: true }
  east.write(part, batchOf(['never', 'seen'], aborted))
  east.log(part).endTransaction(marker(7n, false), false)
  east.write(part, batchOf(['last']))
  await mirror.start()
  // Parked: the aborted batch is read again when the destination answers.
  await clock.advance(20_000)
  assert.equal([...mirror.units()][0]?.run?.parked !== null, true)
  release()
  await clock.until(() => valuesIn(west).length === 81)
  assert.deepEqual(valuesIn(west), [...range(0, 80), 'last'])
  assert.equal([...mirror.units()][0]?.counts.skippedAborted, 2)
  await mirror.stop()
  assert.equal(east.stored(group).get('t/0')?.offset, 84n)
})

test('a marker that cannot be read stops its partition, and not the flow', async () => {
  const mirror = twoTopics({}, 2)
  const { east, west, events, clock } = mirror
  east.write(part, batchOf(['never'], { producerId: 7n, transactional: true }))
  const broken = marker(7n, false)
  // Its key says that it is longer than the batch.
  broken.writeInt8(126, 65)
  broken.writeUInt32BE(crc32c(broken.subarray(at.attributes)), at.crc)
  east.log(part).endTransaction(broken, false)
  await mirror.start()
  await clock.until(() => events.some(event => event.code === 'batch-corrupt'))
  east.write({ topic: 't', partition: 1 }, batchOf(['other']))
  await clock.until(() => valuesIn(west, 1).length === 1)
  assert.deepEqual(valuesIn(west), [])
  await mirror.stop()
  assert.equal(east.account.heldBytes, 0)
})

test('a batch with append time is made anew, with that time on each record', async () => {
  const mirror = twoTopics({ untilEnd: true })
  const { east, west } = mirror
  const bytes = batchOf(['a', 'b'])
  const appended = 1_700_000_009_999n
  bytes.writeInt16BE(bytes.readInt16BE(at.attributes) | logAppendTime, at.attributes)
  bytes.writeBigInt64BE(appended, at.maxTimestamp)
  bytes.writeUInt32BE(crc32c(bytes.subarray(at.attributes)), at.crc)
  east.write(part, bytes)
  await mirror.start()
  assert.equal((await mirror.ended()).records, 2)
  const kept = west.log(part).batches[0]
  assert.ok(kept)
  assert.equal(readHeader(kept.bytes).attributes & logAppendTime, 0)
  assert.deepEqual(
    records(kept, codec).map(record => record.timestamp),
    [appended, appended],
  )
})

test('MIRROR 15: offsets that were deleted before they were read are an event and a count, once', async () => {
  const mirror = twoTopics({ untilEnd: true })
  const { east, west, events } = mirror
  fill(east, 0, 5)
  await mirror.start()
  await mirror.ended()
  fill(east, 50, 25)
  east.trimTo(part, 200n)
  await mirror.start()
  const second = await mirror.ended()
  assert.deepEqual([second.records, second.gapRecords], [100, 150])
  assert.deepEqual(valuesIn(west), [...range(0, 50), ...range(200, 300)])
  assert.deepEqual(
    events.map(({ code, from, to }) => ({ code, from, to })),
    [{ code: 'source-gap', from: 50n, to: 200n }],
  )
  await mirror.start()
  assert.equal((await mirror.ended()).records, 0)
  assert.equal(events.length, 1)
})

test('MIRROR 15: with gaps: stop the partition is in error and nothing is copied', async () => {
  const mirror = twoTopics({ untilEnd: true, gaps: 'stop' })
  const { east, west, events } = mirror
  fill(east, 0, 5)
  await mirror.start()
  await mirror.ended()
  fill(east, 50, 25)
  east.trimTo(part, 200n)
  await mirror.start()
  const second = await mirror.ended()
  assert.equal(second.topics[0]?.state, 'error')
  assert.equal(events[0]?.code, 'source-gap')
  assert.equal(valuesIn(west).length, 50)
  assert.equal(east.stored(group).get('t/0')?.offset, 50n)
})

for (const [name, behind] of [
  ['shorter', 5],
  ['longer', 30],
] as const) {
  test(`MIRROR 17: a log cut below what was copied and grown again, ${name} than before, goes on where it parted`, async () => {
    const mirror = twoTopics()
    const { east, west, events, clock } = mirror
    for (let epoch = 0; epoch < 3; epoch++) east.log(part).newEpoch()
    fill(east, 0, 100)
    await mirror.start()
    await clock.until(() => valuesIn(west).length === 1_000)
    await clock.advance(2_000)
    east.truncate(part, 900n)
    fill(east, 5_000, behind)
    await clock.until(() => valuesIn(west).length === 1_000 + behind * 10)
    assert.deepEqual(
      events.map(({ code, from, to }) => ({ code, from, to })),
      [{ code: 'source-truncated', from: 900n, to: 1_000n }],
    )
    assert.deepEqual(valuesIn(west).slice(1_000), range(5_000, 5_000 + behind * 10))
    assert.equal([...mirror.units()][0]?.counts.replacedRecords, 100)
    await mirror.stop()
    assert.equal(east.stored(group).get('t/0')?.offset, BigInt(900 + behind * 10))
  })
}

test('MIRROR 17: with gaps: stop a cut log ends the partition in error', async () => {
  const mirror = twoTopics({ gaps: 'stop' })
  const { east, west, events, clock } = mirror
  fill(east, 0, 100)
  await mirror.start()
  await clock.until(() => valuesIn(west).length === 1_000)
  east.truncate(part, 900n)
  fill(east, 5_000, 5)
  await clock.until(() => events.length > 0)
  assert.deepEqual([events[0]?.code, events[0]?.state], ['source-truncated', 'error'])
  assert.equal(valuesIn(west).length, 1_000)
  await mirror.stop()
})

test('a source topic made anew while it is copied is copied from its start, behind the old records', async () => {
  const mirror = twoTopics()
  const { east, west, events, clock } = mirror
  fill(east, 0, 10)
  await mirror.start()
  await clock.until(() => valuesIn(west).length === 100)
  east.recreateTopic('t')
  fill(east, 700, 3)
  await clock.until(() => valuesIn(west).length === 130)
  assert.deepEqual(valuesIn(west).slice(100), range(700, 730))
  const [event] = events
  assert.equal(event?.code, 'topic-recreated')
  assert.ok(event?.oldId && event.newId && event.oldId !== event.newId)
  await mirror.stop()
  assert.equal(east.stored(group).get('t/0')?.offset, 30n)
  assert.match(east.stored(group).get('t/0')?.metadata ?? '', new RegExp(`"t":"${event.newId}"`))
})

test('a source topic made anew between two copies is noticed by its id, though its log is longer', async () => {
  const mirror = twoTopics({ untilEnd: true })
  const { east, west, events } = mirror
  fill(east, 0, 10)
  await mirror.start()
  await mirror.ended()
  east.recreateTopic('t')
  fill(east, 700, 20)
  await mirror.start()
  assert.equal((await mirror.ended()).gapRecords, 0)
  assert.equal(events[0]?.code, 'topic-recreated')
  assert.deepEqual(valuesIn(west), [...range(0, 100), ...range(700, 900)])
})

test('a destination topic made anew is an error whatever the policy, now and at the next start', async () => {
  const mirror = twoTopics()
  const { east, west, events, clock } = mirror
  fill(east, 0, 10)
  await mirror.start()
  await clock.until(() => valuesIn(west).length === 100)
  await clock.advance(2_000)
  west.recreateTopic('t')
  fill(east, 100, 10)
  await clock.until(() => events.some(event => event.code === 'destination-recreated'))
  await clock.advance(200_000)
  assert.deepEqual(valuesIn(west), [])
  await mirror.stop()
  assert.equal(east.stored(group).get('t/0')?.offset, 100n)

  await mirror.start()
  await clock.advance(200_000)
  assert.equal(events.filter(event => event.code === 'destination-recreated').length, 2)
  assert.deepEqual(valuesIn(west), [])
  await mirror.stop()
})

test('a refused batch puts its partition in error with the setting to look at; the others are copied', async () => {
  const mirror = twoTopics({ untilEnd: true }, 2)
  const { east, west, events } = mirror
  fill(east, 0, 6)
  for (let n = 0; n < 6; n++) east.write({ topic: 't', partition: 1 }, numbered(n * 10, 10))
  west.failNextProduce(part, 32)
  await mirror.start()
  const ended = await mirror.ended()
  assert.equal(ended.topics[0]?.state, 'error')
  assert.deepEqual(valuesIn(west, 1), range(0, 60))
  const [event] = events
  assert.deepEqual([event?.code, event?.partition, event?.offset], ['batch-refused', 0, 0n])
  assert.match(String(event?.hint), /message\.timestamp\.after\.max\.ms/)
  assert.equal(east.stored(group).get('t/0')?.offset ?? 0n, 0n)
  assert.equal(east.stored(group).get('t/1')?.offset, 60n)
  assert.equal(east.account.heldBytes, 0)
})

test('a running partition in error tries again by itself, and runs on when the cause is gone', async () => {
  const mirror = twoTopics()
  const { east, west, events, clock } = mirror
  fill(east, 0, 6)
  west.failNextProduce(part, 32)
  await mirror.start()
  await clock.until(() => valuesIn(west).length === 60)
  assert.deepEqual(valuesIn(west), range(0, 60))
  assert.equal(events[0]?.code, 'batch-refused')
  assert.equal([...mirror.units()][0]?.fault, null)
  await mirror.stop()
})

test('a single record above the limit is named as such', async () => {
  const mirror = twoTopics({ untilEnd: true })
  const { east, west, events } = mirror
  east.write(part, batchOf(['small']))
  east.write(part, batchOf(['too large']))
  await mirror.start()
  await mirror.ended()
  east.write(part, batchOf(['again']))
  west.failNextProduce(part, 10)
  await mirror.start()
  assert.equal((await mirror.ended()).topics[0]?.state, 'error')
  assert.deepEqual([events[0]?.code, events[0]?.offset], ['record-too-large', 2n])
})

test('a batch that the destination calls damaged is sent again three times, then it is an error', async () => {
  const mirror = twoTopics({ untilEnd: true })
  const { east, west, events } = mirror
  fill(east, 0, 6)
  for (let n = 0; n < 3; n++) west.failNextProduce(part, 2)
  await mirror.start()
  assert.equal((await mirror.ended()).topics[0]?.state, 'running')
  assert.deepEqual(valuesIn(west), range(0, 60))
  fill(east, 60, 1)
  for (let n = 0; n < 4; n++) west.failNextProduce(part, 2)
  await mirror.start()
  assert.equal((await mirror.ended()).topics[0]?.state, 'error')
  assert.deepEqual([events[0]?.code, events[0]?.offset], ['batch-corrupt', 60n])
})

test('a batch that is damaged at the source is never sent', async () => {
  const mirror = twoTopics({ untilEnd: true })
  const { east, west, events } = mirror
  fill(east, 0, 6)
  east.corruptNextBatch(part, 30n, 10)
  await mirror.start()
  assert.equal((await mirror.ended()).topics[0]?.state, 'error')
  assert.deepEqual(valuesIn(west), range(0, 30))
  assert.deepEqual([events[0]?.code, events[0]?.offset], ['batch-corrupt', 30n])
  assert.match(String(events[0]?.message), /CRC [0-9a-f]+ found, [0-9a-f]+ computed/)
  assert.equal(east.stored(group).get('t/0')?.offset, 30n)
})

test('a destination that is down is said once, and the copy goes on when it is back: nothing lost, nothing twice', async () => {
  const mirror = twoTopics({ untilEnd: true })
  const { east, west, events, clock } = mirror
  fill(east, 0, 40)
  await mirror.start()
  west.stopBroker(0)
  await clock.advance(60_000)
  assert.deepEqual(
    events.map(({ code, state }) => ({ code, state })),
    [{ code: 'kafka-unreachable', state: 'degraded' }],
  )
  west.startBroker(0)
  const ended = await mirror.ended()
  assert.deepEqual([ended.records, ended.whole], [400, true])
  assert.deepEqual(valuesIn(west), range(0, 400))
})

test('a stop while the destination hangs ends after its time, and the next copy loses nothing', async () => {
  const mirror = twoTopics()
  const { east, west, clock } = mirror
  fill(east, 0, 40)
  await mirror.start()
  await clock.until(() => valuesIn(west).length > 0)
  const release = west.holdAnswers(0, 'Produce')
  fill(east, 400, 40)
  await clock.advance(1_000)
  await mirror.stop()
  release()
  assert.equal(east.account.heldBytes, 0)
  await mirror.start()
  await clock.until(() => new Set(valuesIn(west)).size === 800)
  assert.deepEqual([...new Set(valuesIn(west))], range(0, 800))
  await mirror.stop()
})

test('a checkpoint that somebody else moves again and again ends the copy as flow-runs-twice', async () => {
  const mirror = twoTopics()
  const { east, west, clock } = mirror
  fill(east, 0, 10)
  await mirror.start()
  await clock.until(() => valuesIn(west).length === 100)
  // For a minute a new owner stores its checkpoints again and again, whatever is there (C-11).
  await clock.advance(ownerCommitsMs)
  const other = async (offset: bigint) => {
    await clock.advance(3_000)
    const entry = { ...part, offset, epoch: 0, metadata: '' }
    await mirror.over(east.checkpoints.save(group, [entry], () => true, new AbortController().signal))
  }
  await other(20n)
  await clock.until(() => east.stored(group).get('t/0')?.offset === 100n)
  const ended = assert.rejects(mirror.ended(), { code: 'flow-runs-twice' })
  await other(30n)
  await ended
  assert.equal(east.stored(group).get('t/0')?.offset, 30n)
})

test('a checkpoint that moved once is stored again, and the copy goes on', async () => {
  const mirror = twoTopics()
  const { east, west, clock } = mirror
  fill(east, 0, 10)
  await mirror.start()
  await clock.until(() => valuesIn(west).length === 100)
  await clock.advance(2_000)
  const late = { ...part, offset: 20n, epoch: 0, metadata: '' }
  await mirror.over(east.checkpoints.save(group, [late], () => true, new AbortController().signal))
  await clock.advance(60_000)
  assert.equal(east.stored(group).get('t/0')?.offset, 100n)
  await mirror.stop()
})

test('an answer that comes in the turn in which its partition is parked is dropped, and read again', async () => {
  const mirror = twoTopics()
  const { east, west, clock } = mirror
  const release = west.holdAnswers(0, 'Produce')
  fill(east, 0, 20)
  await mirror.start()
  await clock.until(() => [...mirror.units()][0]?.window.position === 200n)
  const [unit] = mirror.units()
  assert.ok(unit?.stream && unit.run)
  const { stream, run } = unit
  const next = stream.next.bind(stream)
  stream.next = async signal => {
    const answer = await next(signal)
    park(run)
    return answer
  }
  fill(east, 200, 5)
  await clock.until(() => unit.window.position === 250n)
  fill(east, 250, 5)
  await clock.until(() => run.parked !== null)
  await clock.settle()
  assert.ok(unit.window.position < 250n)
  release()
  await clock.until(() => valuesIn(west).length >= 300)
  assert.deepEqual(valuesIn(west), range(0, 300))
  await mirror.stop()
})

test('nothing is copied before the start of every new partition is stored', async () => {
  const mirror = twoTopics({}, 2)
  const { east, west, clock } = mirror
  fill(east, 0, 5)
  const release = east.holdAnswers(0, 'OffsetCommit')
  mirror.begin()
  await clock.advance(5_000)
  assert.deepEqual([valuesIn(west), [...mirror.units()]], [[], []])
  release()
  await clock.until(() => valuesIn(west).length === 50)
  assert.equal(east.stored(group).get('t/1')?.offset, 0n)
  await mirror.stop()
})

test('what was deleted from a topic made anew before it was read is a gap, counted and told', async () => {
  const mirror = twoTopics({ untilEnd: true })
  const { east, west, events } = mirror
  fill(east, 0, 5)
  await mirror.start()
  await mirror.ended()
  east.recreateTopic('t')
  fill(east, 700, 20)
  east.trimTo(part, 80n)
  await mirror.start()
  assert.equal((await mirror.ended()).gapRecords, 80)
  assert.deepEqual(
    events.map(({ code, from, to }) => ({ code, from, to })),
    [
      { code: 'topic-recreated', from: 50n, to: undefined },
      { code: 'source-gap', from: 0n, to: 80n },
    ],
  )
  assert.deepEqual(valuesIn(west).slice(50), range(780, 900))
})
