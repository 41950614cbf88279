import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codec } from '../../engine/adapters/kafka/native.ts'
import { at, codecs, deleteHorizon, logAppendTime } from '../../engine/batch/header.ts'
import { records } from '../../engine/batch/records.ts'
import { batchOf, marker } from '../fakes/kafka/batches.ts'
import type { FakeKafka } from '../fakes/kafka/cluster.ts'
import { copied, numbersIn, odd, part, signed, sized, stopAt, thin, upTo } from './oddPartition.ts'
import { type Random, randomOf } from './random.ts'

/** Batches of every sort; gives the numbers that must arrive. */
function writeOdd(east: FakeKafka, random: Random, batches: number): number[] {
  const kept: number[] = []
  const log = east.log(part)
  let open: { producerId: bigint; numbers: number[]; commit: boolean } | null = null
  let next = 0
  let producerId = 100n
  for (let n = 0; n < batches; n++) {
    const sort = random.below(10)
    const count = sort < 4 ? 1 : 1 + random.below(12)
    const bytes = 8 + (sort === 9 ? random.below(6_000) : random.below(400))
    const numbers = upTo(count).map(i => next + i)
    next += count
    const values = sized(numbers[0] ?? 0, count, bytes, random.below(2) === 0 ? random : null)
    const name = random.below(3) === 0 ? random.of(codecs) : 'none'
    if (open === null && random.below(12) === 0) {
      producerId++
      open = { producerId, numbers: [], commit: random.below(2) === 0 }
    }
    const inOpen = open !== null && random.below(2) === 0
    const how = inOpen && open ? { producerId: open.producerId, transactional: true } : {}
    const batch = batchOf(values, { codec: name, ...how })
    if (sort === 5) thin(batch, 1 + random.below(3))
    if (sort === 6) {
      batch.writeInt16BE(batch.readInt16BE(at.attributes) | logAppendTime, at.attributes)
      signed(batch)
    }
    if (sort === 7) {
      batch.writeInt16BE(batch.readInt16BE(at.attributes) | deleteHorizon, at.attributes)
      signed(batch)
    }
    east.write(part, batch)
    if (!(inOpen && open && !open.commit)) kept.push(...numbers)
    const end = open !== null && (random.below(6) === 0 || n === batches - 1)
    if (open && end) {
      log.endTransaction(marker(open.producerId, open.commit), open.commit)
      open = null
    }
  }
  return kept
}

for (const seed of process.env['MILLRACE_SEED'] ? [Number(process.env['MILLRACE_SEED'])] : upTo(12)) {
  test(`batches of every sort through some limit and codec: every record once, in order (MILLRACE_SEED=${seed})`, async () => {
    const random = randomOf(seed)
    const compression = random.of(['keep', 'keep', ...codecs])
    // The largest record alone must fit.
    const limitBytes = random.of([6_500, 8_000, 20_000, 100_000, 1_000_000])
    const mirror = odd({ limitBytes, spec: { compression } })
    const { east, west, events } = mirror
    const kept = writeOdd(east, random, 300)
    await mirror.start()
    await copied(mirror, kept.length)
    await mirror.clock.advance(2_000)
    await stopAt(mirror, Number(east.log(part).end))
    assert.deepEqual(numbersIn(west), kept)
    assert.deepEqual(events, [])
    for (const kept of west.log(part).batches) {
      assert.ok(kept.bytes.length <= limitBytes)
      records(kept, codec)
    }
  })
}
