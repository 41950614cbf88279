import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryAccount } from '../../../engine/adapters/kafka/slab.ts'
import { answerLateMs, memoryBytesMax } from '../../../engine/limits.ts'
import type { Trouble } from '../../../engine/ports/kafka.ts'
import { batchOfBytes } from '../../fakes/kafka/batches.ts'
import { mirrorOf } from '../../mirror/mirrorOf.ts'

const partitions = 16
const tickMs = 250
/** So many ticks bring large batches, more than there is memory for; the others need hardly any. */
const largeTicks = 10
const windowTicks = 120
const parts = Array.from({ length: partitions }, (_, partition) => ({ topic: 't', partition }))
/** Each frame of the source holds partitions of both brokers of the destination. */
const leaderOf = (partition: number) => (partition >> 1) % 2
const healthy = parts.filter(({ partition }) => leaderOf(partition) === 0)

/** Each tick brings every partition a batch; with `deaf` broker 1 of the destination reads nothing from the start on. */
async function copying(deaf: boolean) {
  const mirror = mirrorOf({ brokers: 2, account: new MemoryAccount({ bytesMax: memoryBytesMax, poison: true }) })
  const { clock, east, west, units } = mirror
  for (const cluster of [east, west]) cluster.topic('t', partitions)
  for (const part of parts) west.moveLeader(part, leaderOf(part.partition))
  const [large, small] = [batchOfBytes(400_000), batchOfBytes(6_000)]
  let written = 0
  let mostBytes = 0
  const tick = async () => {
    for (const part of parts) east.write(part, written < largeTicks ? large : small)
    written++
    await clock.advance(tickMs)
    mostBytes = Math.max(mostBytes, east.account.heldBytes)
  }
  const moved = (part: (typeof parts)[number]) => west.log(part).batches.length
  await mirror.start()
  await tick()
  await clock.until(() => parts.every(part => moved(part) === written))
  const vice = deaf ? west.takesNothing(1) : null
  const troubles = (): (Trouble | null)[] =>
    [...units()].filter(unit => leaderOf(unit.part.partition) === 1).map(unit => unit.run?.lane.trouble() ?? null)
  const end = async () => {
    vice?.heal()
    await clock.until(() => parts.every(part => moved(part) >= written))
    await mirror.stop()
    const sequences = parts.map(part => west.log(part).batches.map(({ header }) => header.baseSequence))
    return { sequences, counts: parts.map(moved), written, resets: west.counts().producerResets }
  }
  const movedHealthy = () => healthy.reduce((sum, part) => sum + moved(part), 0)
  return { ...mirror, tick, movedHealthy, vice, troubles, end, mostBytes: () => mostBytes }
}

test('a broker that takes connections and reads nothing has its batches copied out of the slabs, and the others go on', async () => {
  const before = await copying(false)
  for (let n = 0; n < windowTicks; n++) await before.tick()
  const usual = before.movedHealthy()
  await before.end()

  const { tick, movedHealthy, troubles, end, mostBytes, east } = await copying(true)
  const { account } = east
  for (let n = 0; n < windowTicks; n++) await tick()
  const share = movedHealthy() / usual
  assert.ok(share >= 0.8, `${share} of what they moved before`)
  assert.ok(mostBytes() <= memoryBytesMax, `${mostBytes()} bytes held`)
  // A second reset would give nothing back, however much memory is wanted.
  const taken = account.count(Buffer.alloc(memoryBytesMax))
  for (let ms = 0; ms < 1.5 * answerLateMs; ms += tickMs) await tick()
  assert.ok(account.waiting > 0)
  taken.release()
  for (const trouble of troubles()) assert.deepEqual([trouble?.code, trouble?.tries], ['kafka-link-lost', 1])
  const { counts, sequences, written, resets } = await end()
  assert.deepEqual(
    counts,
    parts.map(() => written),
  )
  for (const [first, ...rest] of sequences) assert.ok(rest.every((sequence, i) => sequence === (first ?? 0) + i + 1))
  assert.equal(resets, 0)
})

test('a broker that reads slowly keeps its link, however long a request takes', async () => {
  const { tick, vice, troubles, end } = await copying(true)
  for (let n = 0; n < windowTicks; n++) {
    await tick()
    vice?.take(5_000)
    for (const trouble of troubles()) assert.notEqual(trouble?.code, 'kafka-link-lost')
  }
  const { counts, written } = await end()
  assert.deepEqual(
    counts,
    parts.map(() => written),
  )
})
