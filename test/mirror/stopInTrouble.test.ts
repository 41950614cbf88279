import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkpointOf } from '../../engine/flow/window.ts'
import { unitLookMs } from '../../engine/limits.ts'
import { batchOf, valuesOf } from '../fakes/kafka/batches.ts'
import { mirrorOf } from './mirrorOf.ts'

const part = { topic: 't', partition: 0 }
/** Until its next look a unit does not know that the answer has come; the rest is the stop itself. */
const soonMs = 2 * unitLookMs

/** A mirror that has copied one batch and goes on. */
async function copying() {
  const mirror = mirrorOf({ brokers: 1, spec: { destination: { create: false } } })
  const { clock, east, west } = mirror
  for (const cluster of [east, west]) cluster.topic('t')
  east.write(part, batchOf(['a']))
  await mirror.start()
  await clock.until(() => west.log(part).batches.length === 1)
  const write = (...values: string[]) => {
    for (const value of values) east.write(part, batchOf([value]))
  }
  const stopMs = async () => {
    const beganMs = clock.nowMs()
    await mirror.stop()
    return clock.nowMs() - beganMs
  }
  const values = () => west.log(part).batches.flatMap(valuesOf)
  return { ...mirror, write, stopMs, values }
}

test('a stop does not wait for what a destination without the topic has refused to take: the checkpoint stands before it', async () => {
  const { clock, east, west, units, write, stopMs } = await copying()
  west.deleteTopic('t')
  write('b', 'c', 'd')
  const unit = [...units()][0]
  await clock.until(() => unit?.run?.lane.trouble() != null)
  assert.ok((await stopMs()) <= soonMs)
  assert.equal(unit && checkpointOf(unit.window), 1n)
  assert.equal(east.stored('millrace.flow').get('t/0')?.offset, 1n)
})

test('a stop while the answer that the topic is not there is on its way ends soon after it', async () => {
  const { clock, east, west, write, stopMs } = await copying()
  const release = west.holdAnswers(0, 'Produce')
  west.deleteTopic('t')
  write('b')
  await clock.advance(1_000)
  clock.after(1_000, release)
  assert.ok((await stopMs()) <= 1_000 + soonMs)
  assert.equal(east.stored('millrace.flow').get('t/0')?.offset, 1n)
})

test('a stop does not wait for what was never written, when the destination is away', async () => {
  const { clock, east, west, units, write, stopMs, start, values } = await copying()
  west.stopBroker(0)
  write('b', 'c')
  const unit = [...units()][0]
  await clock.until(() => unit?.run?.lane.trouble() != null)
  assert.ok((await stopMs()) <= soonMs)
  assert.equal(east.stored('millrace.flow').get('t/0')?.offset, 1n)
  west.startBroker(0)
  await start()
  await clock.until(() => values().length === 3)
  assert.deepEqual(values(), ['a', 'b', 'c'])
})

test('a stop waits for a batch whose answer was lost: it may be in the log, and comes there once', async () => {
  const { clock, east, west, write, stopMs, start, values, units } = await copying()
  const release = west.holdAnswers(0, 'Produce')
  write('b')
  await clock.advance(100)
  west.stopBroker(0)
  release()
  const unit = [...units()][0]
  await clock.until(() => unit?.run?.lane.trouble() != null)
  clock.after(5_000, () => west.startBroker(0))
  assert.ok((await stopMs()) >= 5_000)
  assert.equal(east.stored('millrace.flow').get('t/0')?.offset, 2n)
  await start()
  write('c')
  await clock.until(() => values().length === 3)
  assert.deepEqual(values(), ['a', 'b', 'c'])
})
