import assert from 'node:assert/strict'
import { test } from 'node:test'
import { topicGoneMs } from '../../engine/limits.ts'
import { batchOf } from '../fakes/kafka/batches.ts'
import { mirrorOf } from './mirrorOf.ts'

const parts = [0, 1].map(partition => ({ topic: 't', partition }))

/** A copy until the end of two partitions. */
function prepared() {
  const mirror = mirrorOf({ brokers: 1, untilEnd: true })
  for (const cluster of [mirror.east, mirror.west]) cluster.topic('t', 2)
  for (const part of parts) for (let n = 0; n < 3; n++) mirror.east.write(part, batchOf([`${n}`]))
  return mirror
}

const placed = (mirror: ReturnType<typeof prepared>) => mirror.clock.until(() => [...mirror.units()].length === 2)

test('a copy until the end whose source topic is deleted on the way ends with that fault, and keeps what it has', async () => {
  const mirror = prepared()
  const release = mirror.east.holdAnswers(0, 'Fetch')
  await mirror.start()
  await placed(mirror)
  mirror.east.deleteTopic('t')
  const beganMs = mirror.clock.nowMs()
  release()
  const report = await mirror.ended()
  assert.ok(mirror.clock.nowMs() - beganMs < 3 * topicGoneMs)
  assert.equal(report.topics[0]?.state, 'error')
  assert.deepEqual(
    mirror.events.filter(event => event.state === 'error').map(event => [event.code, event.partition]),
    parts.map(({ partition }) => ['source-missing', partition]),
  )
})

test('a copy until the end whose destination topic is deleted on the way ends with that fault', async () => {
  const mirror = prepared()
  const release = mirror.east.holdAnswers(0, 'Fetch')
  await mirror.start()
  await placed(mirror)
  mirror.west.deleteTopic('t')
  release()
  const report = await mirror.ended()
  assert.equal(report.topics[0]?.state, 'error')
  assert.deepEqual(
    [...new Set(mirror.events.filter(event => event.state === 'error').map(event => event.code))],
    ['destination-missing'],
  )
})

test('a topic deleted between the first look and its start is named, and the copy does not end as if it were whole', async () => {
  const mirror = prepared()
  const release = mirror.east.holdAnswers(0, 'OffsetCommit')
  mirror.begin()
  await mirror.clock.advance(100)
  mirror.east.deleteTopic('t')
  release()
  const report = await mirror.ended()
  assert.deepEqual(
    report.topics.map(({ topic, state, partitions }) => [topic, state, partitions]),
    [['t', 'waiting', 2]],
  )
  const deleted = mirror.events.filter(event => event.code === 'source-topic-deleted')
  assert.deepEqual(
    deleted.map(event => event.topic),
    ['t'],
  )
})

test('a copy without end says how to go on where its destination topic was deleted, or to copy all again', async () => {
  const mirror = mirrorOf({ brokers: 1 })
  for (const cluster of [mirror.east, mirror.west]) cluster.topic('t', 2)
  await mirror.start()
  await placed(mirror)
  mirror.west.deleteTopic('t')
  for (const part of parts) mirror.east.write(part, batchOf(['1']))
  await mirror.clock.until(() => mirror.events.some(event => event.code === 'destination-missing'))
  const [event] = mirror.events.filter(one => one.code === 'destination-missing')
  assert.match(event?.hint ?? '', /--topic t --reset-offsets --to-current --execute/)
  await mirror.stop()
})
