import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryAccount } from '../../engine/adapters/kafka/slab.ts'
import { memoryBytesMax, produceInFlightMax } from '../../engine/limits.ts'
import { batchOf, batchOfBytes } from '../fakes/kafka/batches.ts'
import { unacknowledged } from '../flow/unacknowledged.ts'
import { mirrorOf } from './mirrorOf.ts'

const MiB = 1024 * 1024

function account(): MemoryAccount {
  return new MemoryAccount({ bytesMax: memoryBytesMax, poison: true })
}

test('MIRROR 30: under a hanging destination 200 units hold no more than the limit, and all flow after it', async () => {
  const mirror = mirrorOf({ brokers: 3, account: account() })
  const { clock, east, west } = mirror
  east.topic('t', 200)
  west.topic('t', 200)
  const batch = batchOfBytes(64 * 1024)
  for (let partition = 0; partition < 200; partition++) east.log({ topic: 't', partition }).endless(batch)
  const release = [0, 1, 2].map(broker => west.holdAnswers(broker, 'Produce'))
  let mostBytes = 0
  const watch = (ms: number) => {
    const end = clock.nowMs() + ms
    return clock.until(() => {
      mostBytes = Math.max(mostBytes, east.account.heldBytes)
      return clock.nowMs() >= end
    })
  }
  await mirror.start()
  await watch(60_000)
  assert.ok(mostBytes > 16 * MiB, `${mostBytes} bytes: the source must have pressed`)
  assert.ok(mostBytes <= memoryBytesMax, `${mostBytes} bytes held`)
  assert.equal(east.brokers.fetchesWhileWaiting, 0)
  for (const unit of mirror.units()) assert.ok(unacknowledged(unit.window) <= produceInFlightMax)

  for (const go of release) go()
  const copied = () => [...Array(200).keys()].map(partition => west.log({ topic: 't', partition }).batches.length)
  await clock.until(() => {
    mostBytes = Math.max(mostBytes, east.account.heldBytes)
    return copied().every(count => count >= 5)
  })
  assert.ok(mostBytes <= memoryBytesMax, `${mostBytes} bytes held`)
  assert.equal(east.brokers.fetchesWhileWaiting, 0)
  await mirror.stop()
  assert.equal(east.account.heldBytes, 0)
})

test('MIRROR 30: one batch of 70 MiB passes alone', async () => {
  const mirror = mirrorOf({ brokers: 2, account: account() })
  const { clock, east, west } = mirror
  for (const cluster of [east, west]) cluster.topic('t', 4)
  const huge = batchOfBytes(70 * MiB)
  const part = { topic: 't', partition: 0 }
  east.write(part, batchOf(['before']))
  east.write(part, huge)
  east.write(part, batchOf(['after']))
  for (const partition of [1, 2, 3]) east.log({ topic: 't', partition }).endless(batchOfBytes(900_000))
  await mirror.start()
  const beside: number[] = []
  await clock.until(() => {
    const held = east.account.heldBytes
    if (held > memoryBytesMax) beside.push(held - huge.length)
    return west.log(part).batches.length === 3
  })
  assert.ok(beside.length > 0)
  // The frame's own head and tail, and nothing else.
  assert.ok(Math.max(...beside) < 1_000, `${Math.max(...beside)} bytes beside it`)
  assert.ok(west.log(part).batches[1]?.bytes.subarray(57).equals(huge.subarray(57)))
  await mirror.stop()
})

/** Batches that arrive at the healthy half within twenty seconds, with or without the other half's leader silent. */
async function rateOf(silent: boolean): Promise<{ healthy: number; most: number; parked: number }> {
  const mirror = mirrorOf({ brokers: 2, account: account() })
  const { clock, east, west } = mirror
  for (const cluster of [east, west]) cluster.topic('t', 40)
  const release = silent ? west.holdAnswers(1, 'Produce') : () => {}
  // Too large to be joined (M-38): batches are counted.
  const batch = batchOfBytes(6_000)
  for (let partition = 0; partition < 40; partition++) east.log({ topic: 't', partition })
  await mirror.start()
  const seconds = 20
  for (let tick = 0; tick < seconds * 10; tick++) {
    for (let partition = 0; partition < 40; partition++) east.write({ topic: 't', partition }, batch)
    await clock.advance(100)
  }
  await clock.advance(1_000)
  let healthy = 0
  for (let partition = 0; partition < 40; partition += 2) healthy += west.log({ topic: 't', partition }).batches.length
  const sick = [...mirror.units()].filter(unit => unit.part.partition % 2 === 1)
  const most = Math.max(...sick.map(unit => unacknowledged(unit.window)))
  const parked = sick.filter(unit => unit.run?.parked).length
  release()
  await clock.until(() =>
    [...Array(40).keys()].every(p => west.log({ topic: 't', partition: p }).batches.length === 200),
  )
  await mirror.stop()
  return { healthy, most, parked }
}

test('MIRROR 23: twenty partitions whose leader never answers are parked, the others keep their rate', async () => {
  const whole = await rateOf(false)
  const half = await rateOf(true)
  assert.equal(whole.healthy, 20 * 200)
  assert.equal(half.parked, 20)
  assert.ok(half.most <= produceInFlightMax, `${half.most} batches stay`)
  assert.ok(half.healthy >= 0.95 * whole.healthy, `${half.healthy} of ${whole.healthy}`)
})
