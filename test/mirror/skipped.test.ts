import assert from 'node:assert/strict'
import { test } from 'node:test'
import { at } from '../../engine/batch/header.ts'
import { batchOf, marker } from '../fakes/kafka/batches.ts'
import {
  copied,
  failsAt,
  numbersIn,
  odd,
  part,
  range,
  sized,
  skip,
  stopAt,
  unitOf,
  unopened,
  valuesIn,
} from './oddPartition.ts'

test('MIRROR 7: a skip is obeyed at the failing offset only, and once; another one is told once', async () => {
  const mirror = odd({ limitBytes: 1_000 })
  const { east, west, events, clock } = mirror
  for (let n = 0; n < 10; n++) east.write(part, batchOf(sized(n, 1, n === 5 ? 2_000 : 10)))
  await mirror.start()
  await failsAt(mirror, 'record-too-large', 5)
  skip(mirror, 6, 1)
  await clock.until(() => events.some(event => event.code === 'conflict'))
  await clock.advance(200_000)
  assert.deepEqual(
    events.map(event => event.code),
    ['record-too-large', 'conflict'],
  )
  assert.match(String(events[1]?.hint), /skips: \{t: \{0: \[5, 1\]\}\}/)
  assert.equal(valuesIn(west).length, 5)
  skip(mirror, 5, 1)
  await copied(mirror, 9)
  east.write(part, batchOf(sized(10, 1, 10)))
  await copied(mirror, 10)
  await clock.advance(200_000)
  assert.deepEqual(numbersIn(west), [0, 1, 2, 3, 4, 6, 7, 8, 9, 10])
  assert.equal(unitOf(mirror).counts.skippedOperator, 1)
  assert.equal(mirror.report()?.topics[0]?.skippedRecords, 1)
  assert.equal(mirror.report()?.topics[0]?.state, 'running')
  const skipped = events.filter(event => event.code === 'skipped')
  assert.deepEqual(
    skipped.map(({ from, to }) => [from, to]),
    [[5n, 6n]],
  )
  // Started anew with the same words, it stands beyond: nothing is skipped and nothing told.
  await stopAt(mirror, 11)
  const told = events.length
  await mirror.start()
  east.write(part, batchOf(sized(11, 1, 10)))
  await copied(mirror, 11)
  assert.equal(events.length, told)
  assert.equal(unitOf(mirror).counts.skippedOperator, 0)
  await stopAt(mirror, 12)
})

test('a skip that a new process finds is obeyed when it has failed itself', async () => {
  const mirror = odd({ limitBytes: 1_000 })
  const { east, west } = mirror
  for (let n = 0; n < 10; n++) east.write(part, batchOf(sized(n, 1, n === 5 ? 2_000 : 10)))
  await mirror.start()
  await failsAt(mirror, 'record-too-large', 5)
  await mirror.stop()
  skip(mirror, 5, 1)
  await mirror.start()
  await copied(mirror, 9)
  await stopAt(mirror, 10)
  assert.deepEqual(numbersIn(west), [0, 1, 2, 3, 4, 6, 7, 8, 9])
})

test('a skip that was obeyed says nothing of what fails behind it', async () => {
  const mirror = odd({ limitBytes: 1_000 })
  const { east, west, events } = mirror
  for (let n = 0; n < 6; n++) east.write(part, batchOf(sized(n, 1, n === 2 || n === 4 ? 2_000 : 10)))
  await mirror.start()
  await failsAt(mirror, 'record-too-large', 2)
  skip(mirror, 2, 1)
  await failsAt(mirror, 'record-too-large', 4)
  await mirror.clock.advance(30_000)
  assert.deepEqual(
    events.map(event => event.code),
    ['record-too-large', 'skipped', 'record-too-large'],
  )
  await stopAt(mirror, 4)
  assert.deepEqual(numbersIn(west), [0, 1, 3])
})

test('a skip inside a batch leaves out these records alone', async () => {
  const mirror = odd({ limitBytes: 1_000 })
  const { east, west } = mirror
  east.write(part, batchOf([...sized(0, 5, 300), ...sized(5, 2, 2_000), ...sized(7, 3, 300)], { codec: 'none' }))
  await mirror.start()
  await failsAt(mirror, 'record-too-large', 5)
  skip(mirror, 5, 2)
  await copied(mirror, 8)
  await stopAt(mirror, 10)
  assert.deepEqual(numbersIn(west), [0, 1, 2, 3, 4, 7, 8, 9])
})

test('a skip beyond the end of the log ends there', async () => {
  const mirror = odd({ limitBytes: 1_000 })
  const { east, west, events } = mirror
  for (let n = 0; n < 3; n++) east.write(part, batchOf(sized(n, 1, n === 2 ? 2_000 : 10)))
  await mirror.start()
  await failsAt(mirror, 'record-too-large', 2)
  skip(mirror, 2, 1_000)
  await mirror.clock.until(() => events.some(event => event.code === 'skipped'))
  east.write(part, batchOf(sized(3, 1, 10)))
  await copied(mirror, 3)
  assert.equal(unitOf(mirror).counts.skippedOperator, 1)
  await stopAt(mirror, 4)
  assert.deepEqual(numbersIn(west), [0, 1, 3])
  assert.deepEqual(
    events.map(event => event.code),
    ['record-too-large', 'skipped'],
  )
})

test('a batch that cannot be opened stops its partition, what was before it is not sent twice, and it can be skipped', async () => {
  const mirror = odd({ spec: { compression: 'zstd' } })
  const { east, west, events } = mirror
  east.write(part, batchOf(range(0, 10)))
  east.write(part, unopened(4))
  east.write(part, batchOf(range(14, 20)))
  await mirror.start()
  await failsAt(mirror, 'batch-corrupt', 10)
  assert.match(String(events[0]?.message), /at source offset 10: the batch up to offset 13 cannot be opened/)
  await mirror.clock.advance(30_000)
  assert.deepEqual(valuesIn(west), range(0, 10))
  skip(mirror, 10, 4)
  await copied(mirror, 16)
  await stopAt(mirror, 20)
  assert.deepEqual(valuesIn(west), [...range(0, 10), ...range(14, 20)])
})

test('a batch with a wrong CRC stops its partition, what was before it is not sent twice, and it can be skipped', async () => {
  const mirror = odd()
  const { east, west, events } = mirror
  for (let n = 0; n < 3; n++) east.write(part, batchOf(range(n * 10, n * 10 + 10)))
  east.corruptNextBatch(part, 10n, Number.POSITIVE_INFINITY)
  await mirror.start()
  await failsAt(mirror, 'batch-corrupt', 10)
  assert.match(String(events[0]?.message), /at source offset 10: CRC \w+ found, \w+ computed/)
  assert.match(String(events[0]?.hint), /up to offset 19/)
  await mirror.clock.advance(120_000)
  assert.deepEqual(valuesIn(west), range(0, 10))
  skip(mirror, 10, 10)
  await copied(mirror, 20)
  await stopAt(mirror, 30)
  assert.deepEqual(valuesIn(west), [...range(0, 10), ...range(20, 30)])
  assert.equal(events.filter(event => event.code === 'batch-corrupt').length, 1)
})

test('a batch of the time before Kafka 0.11 stops its partition, what was before it is not sent twice, and it can be skipped', async () => {
  const mirror = odd()
  const { east, west, events } = mirror
  const old = batchOf(range(10, 20))
  old.writeInt8(1, at.magic)
  for (const bytes of [batchOf(range(0, 10)), old, batchOf(range(20, 30))]) east.write(part, bytes)
  await mirror.start()
  await failsAt(mirror, 'batch-refused', 10)
  assert.match(String(events[0]?.message), /at source offset 10: a batch of format 1$/)
  await mirror.clock.advance(120_000)
  assert.deepEqual(valuesIn(west), range(0, 10))
  skip(mirror, 10, 10)
  await copied(mirror, 20)
  await stopAt(mirror, 30)
  assert.deepEqual(valuesIn(west), [...range(0, 10), ...range(20, 30)])
  assert.equal(events.filter(event => event.code === 'batch-refused').length, 1)
})

test('MIRROR 4: an open transaction holds back what is behind it; after 60 s the partition is blocked, until it ends', async () => {
  for (const commit of [true, false]) {
    const mirror = odd()
    const { east, west, clock } = mirror
    east.write(part, batchOf(range(0, 100)))
    east.write(part, batchOf(range(100, 150), { producerId: 9n, transactional: true }))
    east.write(part, batchOf(range(150, 250)))
    await mirror.start()
    await copied(mirror, 100)
    await clock.advance(50_000)
    const stateNow = () => mirror.report()?.topics[0]?.state
    assert.deepEqual([stateNow(), mirror.report()?.lagRecords], ['running', 0])
    await clock.advance(11_500)
    assert.deepEqual([stateNow(), mirror.report()?.lagRecords], ['blocked', 0])
    assert.deepEqual(valuesIn(west), range(0, 100))
    const { counts } = unitOf(mirror)
    assert.equal(Number(counts.end) - Number(counts.lastStable), 150)
    east.log(part).endTransaction(marker(9n, commit), commit)
    await copied(mirror, commit ? 250 : 200)
    await clock.advance(2_000)
    assert.deepEqual([stateNow(), mirror.report()?.lagRecords], ['running', 0])
    assert.deepEqual(valuesIn(west), commit ? range(0, 250) : [...range(0, 100), ...range(150, 250)])
    assert.equal(counts.skippedAborted, commit ? 0 : 50)
    await stopAt(mirror, 251)
  }
})

test('a partition that has more to copy and does not move for 300 s without any trouble is stalled', async () => {
  const mirror = odd()
  const { east, west, clock } = mirror
  east.write(part, batchOf(range(0, 10)))
  // The source wants silence for so long (W-25): no fault, and nothing moves.
  east.throttleNextFetch(400_000)
  await mirror.start()
  const stateNow = () => mirror.report()?.topics[0]?.state
  await clock.advance(295_000)
  assert.equal(stateNow(), 'running')
  await clock.advance(8_000)
  assert.equal(stateNow(), 'stalled')
  await copied(mirror, 10)
  await clock.advance(2_000)
  assert.equal(stateNow(), 'running')
  assert.deepEqual(valuesIn(west), range(0, 10))
  await stopAt(mirror, 10)
})
