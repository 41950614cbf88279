import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CodecName, codecOf, codecs } from '../../engine/batch/header.ts'
import { MillraceError } from '../../engine/errors.ts'
import { joinBatchesMin, joinBytesMax } from '../../engine/limits.ts'
import { batchOf, marker } from '../fakes/kafka/batches.ts'
import {
  begunAt,
  copied,
  countsIn,
  failsAt,
  headersIn,
  limitTo,
  numbersIn,
  odd,
  part,
  range,
  sized,
  stopAt,
  thin,
  unitOf,
  unopened,
  upTo,
  valuesIn,
} from './oddPartition.ts'
import { randomOf } from './random.ts'

test('MIRROR 6: a batch above a limit that was not known goes in pieces of 3, 3, 3 and 1, and the next one follows', async () => {
  const mirror = odd({ limitBytes: 1_000 })
  const { east, west } = mirror
  const large = batchOf(sized(0, 10, 300))
  assert.equal(large.length, 3_151)
  east.write(part, large)
  east.write(part, batchOf(sized(10, 2, 300)))
  await mirror.start()
  await copied(mirror, 12)
  await stopAt(mirror, 12)
  assert.deepEqual(countsIn(west), [3, 3, 3, 1, 2])
  assert.equal(west.log(part).batches[0]?.bytes.length, 988)
  const headers = headersIn(west)
  assert.deepEqual(
    headers.map(header => header.baseSequence),
    [0, 3, 6, 9, 10],
  )
  assert.equal(new Set(headers.map(header => header.producerId)).size, 1)
  assert.equal(west.counts().producerResets, 0)
  assert.deepEqual(numbersIn(west), upTo(12))
  assert.deepEqual(mirror.events, [])
})

for (const [name, sizes] of [
  ['many fit', { count: 20, bytes: 100 }],
  ['a single one is larger than half of what was refused', { count: 2, bytes: 700 }],
] as const) {
  test(`a limit that cannot be read is found by halves, and no record is called too large for a guess: ${name}`, async () => {
    const mirror = odd({ limitBytes: 1_000, spec: { destination: { config: { sync: false } } } })
    const { east, west, events } = mirror
    const { count, bytes } = sizes
    await mirror.start()
    west.admin.topicConfigs = () =>
      Promise.reject(new MillraceError('kafka-not-authorized', 'not allowed to read configs'))
    east.write(part, batchOf(sized(0, count, bytes)))
    await copied(mirror, count)
    await stopAt(mirror, count)
    assert.deepEqual(numbersIn(west), upTo(count))
    assert.deepEqual(
      events.filter(event => event['partition'] === 0),
      [],
    )
  })
}

test('a record above the limit stops its partition at just its offset, inside a batch too; with the limit raised it is copied, and nothing twice', async () => {
  const mirror = odd({ limitBytes: 1_000 })
  const { east, west, events } = mirror
  east.write(part, batchOf([...sized(0, 5, 300), ...sized(5, 1, 2_000), ...sized(6, 4, 300)]))
  await mirror.start()
  await failsAt(mirror, 'record-too-large', 5)
  const [event] = events
  assert.match(String(event?.message), /t\/0 at source offset 5: .* 2070 bytes, more than the 1000 /)
  assert.deepEqual(numbersIn(west), upTo(5))
  // It is tried again, and what was acknowledged is not sent again.
  await mirror.clock.advance(30_000)
  assert.deepEqual(numbersIn(west), upTo(5))
  assert.equal(events.length, 1)
  limitTo(west, 4_000)
  mirror.change({})
  await copied(mirror, 10)
  await stopAt(mirror, 10)
  assert.deepEqual(numbersIn(west), upTo(10))
})

test('a split with another codec: every piece has it and is within the limit', async () => {
  const mirror = odd({ limitBytes: 2_000, spec: { compression: 'zstd' } })
  const { east, west } = mirror
  const random = randomOf(6)
  east.write(part, batchOf(sized(0, 30, 300, random), { codec: 'lz4' }))
  east.write(part, batchOf(sized(30, 30, 300, random)))
  await mirror.start()
  await copied(mirror, 60)
  const { split } = unitOf(mirror).counts.batches
  await stopAt(mirror, 60)
  assert.deepEqual(numbersIn(west), upTo(60))
  for (const { header } of west.log(part).batches) {
    assert.equal(codecOf(header.attributes), 'zstd')
    assert.ok(header.bytes <= 2_000, `${header.bytes}`)
  }
  assert.ok(split > 0)
})

for (const compression of codecs) {
  test(`compression: ${compression} gives every batch that codec, whatever it had`, async () => {
    const mirror = odd({ spec: { compression } })
    const { east, west } = mirror
    codecs.forEach((name, i) => {
      east.write(part, batchOf(sized(i * 20, 20, 500), { codec: name }))
    })
    await mirror.start()
    await copied(mirror, 100)
    const { batches } = unitOf(mirror).counts
    await stopAt(mirror, 100)
    assert.deepEqual(numbersIn(west), upTo(100))
    for (const header of headersIn(west)) assert.equal(codecOf(header.attributes), compression)
    const compress = compression === 'none' ? 0 : 1
    assert.deepEqual(batches, { raw: 1, recode: 4 - compress, split: 0, join: 0, compress })
  })
}

test('what a codec would make larger than the limit goes as it came', async () => {
  const random = randomOf(7)
  const batches = [0, 1].map(n => batchOf(sized(n, 1, 800, random)))
  const limitBytes = Math.max(...batches.map(({ length }) => length))
  const mirror = odd({ limitBytes, spec: { compression: 'gzip' } })
  for (const batch of batches) mirror.east.write(part, batch)
  await mirror.start()
  await copied(mirror, 2)
  await stopAt(mirror, 2)
  assert.deepEqual(numbersIn(mirror.west), upTo(2))
  assert.deepEqual(mirror.events, [])
})

test('many small batches of one answer are joined to batches of at most 131,072 bytes, in order', async () => {
  const mirror = odd()
  const { east, west } = mirror
  for (let n = 0; n < 300; n++) east.write(part, batchOf(sized(n, 1, 900), { codec: 'none' }))
  await mirror.start()
  await copied(mirror, 300)
  const { batches } = unitOf(mirror).counts
  await stopAt(mirror, 300)
  assert.deepEqual(numbersIn(west), upTo(300))
  assert.equal(batches.raw, 0)
  assert.equal(batches.join, 3)
  for (const header of headersIn(west)) assert.ok(header.bytes <= joinBytesMax)
})

test('fewer small batches than are worth it go as they came', async () => {
  const mirror = odd()
  const { east, west } = mirror
  for (let n = 0; n < joinBatchesMin - 1; n++) east.write(part, batchOf([`${n}`]))
  east.write(part, batchOf(sized(7, 1, 5_000)))
  for (let n = 8; n < 8 + joinBatchesMin; n++) east.write(part, batchOf([`${n}`]))
  await mirror.start()
  await copied(mirror, 8 + joinBatchesMin)
  await stopAt(mirror, 8 + joinBatchesMin)
  assert.deepEqual(countsIn(west), [1, 1, 1, 1, 1, 1, 1, 1, joinBatchesMin])
  assert.deepEqual(numbersIn(west), upTo(8 + joinBatchesMin))
})

test('small batches of different codecs are not joined with each other', async () => {
  const mirror = odd()
  const { east, west } = mirror
  codecs.forEach((name, i) => {
    for (let n = 0; n < 10; n++) east.write(part, batchOf([`${i * 10 + n}`], { codec: name }))
  })
  await mirror.start()
  await copied(mirror, 50)
  await stopAt(mirror, 50)
  assert.deepEqual(countsIn(west), [10, 10, 10, 10, 10])
  assert.deepEqual(
    headersIn(west).map(header => codecOf(header.attributes)),
    [...codecs],
  )
  assert.deepEqual(numbersIn(west), upTo(50))
})

test('of refused joined batches each goes alone, and the error names the offset of the one that is refused', async () => {
  const mirror = odd()
  const { east, west, events } = mirror
  for (let n = 0; n < 20; n++) east.write(part, batchOf([`${n}`]))
  // As a joined one, and then the seventh of those that go alone: six are taken before it.
  west.failNextProduce(part, 32)
  const { produce } = west.log(part)
  let seen = 0
  west.log(part).produce = bytes =>
    ++seen === 7 ? { error: 32, baseOffset: -1n } : produce.call(west.log(part), bytes)
  await mirror.start()
  await failsAt(mirror, 'batch-refused', 6)
  assert.deepEqual(numbersIn(west), upTo(6))
  assert.match(String(events[0]?.hint), /message\.timestamp\.after\.max\.ms/)
  await copied(mirror, 20)
  assert.deepEqual(numbersIn(west), upTo(20))
  assert.equal(events.length, 1)
  await stopAt(mirror, 20)
})

test('what is joined behind a joined batch that was too large keeps to the limit', async () => {
  const mirror = odd({ limitBytes: 4_500 })
  const { east, west } = mirror
  for (let n = 0; n < 2_000; n++) east.write(part, batchOf(sized(n, 1, 100)))
  await mirror.start()
  await copied(mirror, 2_000)
  await stopAt(mirror, 2_000)
  assert.deepEqual(numbersIn(west), upTo(2_000))
  // Those of the first one of 131,072 bytes go alone; without the limit that it teaches all would.
  assert.ok(headersIn(west).length < 1_000, `${headersIn(west).length}`)
})

test('a small batch that cannot be opened keeps none of its neighbours', async () => {
  const mirror = odd()
  const { east, west } = mirror
  for (let n = 0; n < 8; n++) east.write(part, batchOf([`${n}`], { codec: 'gzip' }))
  east.write(part, unopened(1))
  for (let n = 9; n < 12; n++) east.write(part, batchOf([`${n}`], { codec: 'gzip' }))
  await mirror.start()
  await mirror.clock.until(() => west.log(part).end === 12n)
  await stopAt(mirror, 12)
  assert.deepEqual(countsIn(west), Array(12).fill(1))
})

test('MIRROR 3: an answer that mixes control, aborted, small, thin and large batches keeps the order', async () => {
  const mirror = odd({ limitBytes: 20_000 })
  const { east, west } = mirror
  const kept: number[] = []
  let next = 0
  const write = (
    count: number,
    how: { bytes?: number; keep?: boolean; codec?: CodecName; producerId?: bigint } = {},
  ) => {
    const { bytes = 20, keep = true, codec: name = 'none', producerId } = how
    const of = producerId === undefined ? {} : { producerId, transactional: true }
    const batch = batchOf(sized(next, count, bytes), { codec: name, ...of })
    for (let n = 0; n < count; n++) if (keep) kept.push(next + n)
    next += count
    return batch
  }
  const put = (batch: Buffer) => east.write(part, batch)
  for (let n = 0; n < 9; n++) put(write(1))
  for (let n = 0; n < 3; n++) put(write(2, { producerId: 1n, keep: false }))
  put(write(3))
  for (let n = 0; n < 10; n++) put(write(1, { producerId: 2n }))
  east.log(part).endTransaction(marker(1n, false), false)
  put(write(40, { bytes: 1_000 }))
  put(thin(write(5)))
  east.log(part).endTransaction(marker(2n, true), true)
  for (let n = 0; n < 9; n++) put(write(1, { codec: 'lz4' }))
  put(write(1, { bytes: 6_000, codec: 'zstd' }))
  put(write(1, { producerId: 3n }))
  east.log(part).endTransaction(marker(3n, true), true)
  const end = Number(east.log(part).end)
  await mirror.start()
  await copied(mirror, kept.length)
  const { counts } = unitOf(mirror)
  await stopAt(mirror, end)
  assert.deepEqual(numbersIn(west), kept)
  assert.equal(counts.skippedAborted, 6)
  for (const path of ['raw', 'recode', 'split', 'join'] as const) assert.ok(counts.batches[path] > 0, path)
})

for (const [name, of] of [
  ['uncompressed', 'none'],
  ['compressed', 'lz4'],
] as const) {
  test(`a checkpoint inside a batch, ${name}: only what is behind it is copied`, async () => {
    const mirror = odd()
    const { east, west } = mirror
    east.write(part, batchOf(range(0, 10), { codec: of }))
    east.write(part, batchOf(range(10, 20), { codec: of }))
    await begunAt(mirror, 7)
    await mirror.start()
    await copied(mirror, 13)
    await stopAt(mirror, 20)
    assert.deepEqual(valuesIn(west), range(7, 20))
    assert.deepEqual(
      headersIn(west).map(header => codecOf(header.attributes)),
      [of, of],
    )
  })
}
