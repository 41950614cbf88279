import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { soak } from '../../bench/soak/run.ts'
import { memoryBytesMax } from '../../engine/limits.ts'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { audit, numberedBatch } from '../../rig/audit.ts'
import { deleteRecords } from '../../rig/deleteRecords.ts'
import { kafka } from '../../rig/kafka.ts'
import { openPlain } from '../../rig/openPlain.ts'
import { want } from '../../rig/part.ts'
import { kafkaClient } from './kafkajs.ts'
import { measured, millrace } from './millrace.ts'
import { checkpointsOf, write as numbers, untilEnd } from './mirrorPlaces.ts'
import { type LiveRig, live, rigFor } from './rigFor.ts'
import { runFlow, stopped, summaryTopics } from './runFile.ts'

const longestMs = 180_000
const away = () => new Promise(resolve => setTimeout(resolve, 20_000))

describe('the mirror under faults', live, () => {
  let set: LiveRig<{ far: ReturnType<typeof wantFar> }>
  let east: KafkaCluster
  let far: KafkaCluster
  const alive = setInterval(() => {}, longestMs)
  const wantFar = () => want(kafka, {})

  before(async () => {
    set = await rigFor({ far: wantFar() })
    east = openPlain('east', set.east.bootstrap)
    far = openPlain('far', set.parts.far.address.bootstrap)
  })
  after(async () => {
    clearInterval(alive)
    await Promise.all([east?.close(), far?.close()])
    await set?.dispose()
  })

  test('MIRROR 23: a destination that is away for 20 s is waited for: degraded, then all is copied, nothing twice', async t => {
    const signal = AbortSignal.any([t.signal, AbortSignal.timeout(longestMs)])
    const topic = 'm23'
    const each = 10_000
    for (const cluster of [east, far]) await cluster.admin.createTopic(topic, 4)
    const flags = ['mirror', '--from', set.east.bootstrap, '--to', set.parts.far.address.bootstrap, '--topics', topic]
    const running = millrace([...flags, '--name', 'm23'], signal)
    const listening = (await running.logged(line => line['msg'] === 'listening'))['url']
    await write(east, topic, 0, each / 2, signal)
    await running.line(line => line.type === 'progress' && Number(line['records']) > 0)

    await set.parts.far.kill()
    const gone = away()
    await write(east, topic, each / 2, each, signal)
    const event = await running.line(line => line.type === 'event' && line['state'] === 'degraded')
    assert.equal(event['code'], 'kafka-unreachable')
    assert.equal((await fetch(`${listening}/livez`)).status, 200)
    assert.equal((await fetch(`${listening}/readyz`)).status, 503)
    let mostHeldBytes = 0
    let over = false
    void gone.then(() => {
      over = true
    })
    while (!over) {
      const held = (await measured(running, 'millrace_kafka_held_bytes')).get('')
      assert.ok(held !== undefined)
      mostHeldBytes = Math.max(mostHeldBytes, held)
      await new Promise(resolve => setTimeout(resolve, 100))
    }
    t.diagnostic(`${mostHeldBytes} bytes held at most`)
    assert.ok(mostHeldBytes > 0 && mostHeldBytes <= memoryBytesMax, `${mostHeldBytes} bytes held`)
    await set.parts.far.restart()

    await running.line(line => line.type === 'progress' && Number(line['records']) === 4 * each)
    assert.equal((await fetch(`${listening}/readyz`)).status, 200)
    running.child.kill('SIGTERM')
    const ended = await running.ended
    assert.equal(ended.code, 0, ended.stderr)
    for (const found of await audit(far, topic, [each, each, each, each], signal)) {
      assert.deepEqual([found.records, found.lost, found.repeated, found.outOfOrder], [each, 0, 0, 0])
    }
  })

  test('MIRROR 15: what the source deleted before it was read is an event and a count, once; with gaps: stop nothing is copied', async t => {
    const signal = AbortSignal.any([t.signal, AbortSignal.timeout(longestMs)])
    const topic = 'm15'
    const part = { topic, partition: 0 }
    const west = openPlain('west', set.west.bootstrap)
    t.after(() => west.close())
    for (const cluster of [east, west, far]) await cluster.admin.createTopic(topic, 1)
    const flags = [
      'mirror',
      '--from',
      set.east.bootstrap,
      '--to',
      set.west.bootstrap,
      '--topics',
      topic,
      '--name',
      topic,
    ]
    const copy = async () => {
      // Whole all the same, and of a gap the exit code says so where it is asked to (§3.5).
      const ended = await millrace([...flags, '--until-end', '--strict'], signal).ended
      const gaps = ended.lines.filter(line => line['code'] === 'source-gap')
      const [of] = summaryTopics(ended)
      assert.equal(ended.code, gaps.length > 0 ? 5 : 0, ended.stderr)
      return { gaps: gaps.map(({ from, to }) => [Number(from), Number(to)]), of }
    }
    const stopping = { topics: { names: [topic] }, gaps: 'stop' }
    const strict = () => runFlow('m15-stop', stopping, { east: set.east, west: set.parts.far.address, signal })
    await numbers(east, part, [0, 50], signal)
    assert.deepEqual((await copy()).gaps, [])
    const before = await strict()
    await untilEnd(far, part, 50, signal)
    assert.equal(await stopped(before), 0)

    await numbers(east, part, [50, 300], signal)
    await deleteRecords(set.east.bootstrap, part, 200n)
    const second = await copy()
    assert.deepEqual(second.gaps, [[50, 200]])
    assert.deepEqual([second.of?.['records'], second.of?.['gapRecords']], [100, 150])
    await untilEnd(west, part, 150, signal)
    const third = await copy()
    assert.deepEqual([third.gaps, third.of?.['records']], [[], 0])

    const after = await strict()
    const event = await after.line(line => line.type === 'event' && line['code'] === 'source-gap')
    assert.equal(event['state'], 'error')
    await stopped(after)
    await untilEnd(far, part, 50, signal)
    assert.equal((await checkpointsOf(east, 'm15-stop', signal)).get(`${topic}/0`), 50)
  })

  test('a stop while the destination topic is gone ends with 0, and its checkpoint stands before what was not taken', async t => {
    const signal = AbortSignal.any([t.signal, AbortSignal.timeout(longestMs)])
    const topic = 'gone'
    for (const cluster of [east, far]) await cluster.admin.createTopic(topic, 4)
    const flags = ['mirror', '--from', set.east.bootstrap, '--to', set.parts.far.address.bootstrap, '--topics', topic]
    const running = millrace([...flags, '--name', topic], signal)
    await write(east, topic, 0, 100, signal)
    await running.line(line => line.type === 'progress' && Number(line['records']) === 400)
    const tools = kafkaClient(set.parts.far.address.bootstrap)
    await tools.admin.deleteTopics({ topics: [topic] })
    await tools.close()
    await write(east, topic, 100, 1_000, signal)
    await running.line(line => line.type === 'event' && line['code'] === 'destination-missing')
    const stoppedMs = performance.now()
    running.child.kill('SIGTERM')
    const ended = await running.ended
    t.diagnostic(`it took ${Math.round(performance.now() - stoppedMs)} ms`)
    assert.equal(ended.code, 0, ended.stderr)
    const stored = await east.checkpoints.load(`millrace.${topic}`, 'all', signal)
    assert.deepEqual(
      stored.map(({ offset }) => offset),
      [100n, 100n, 100n, 100n],
    )
  })

  test('a short run under kills of the mirror and restarts of brokers loses nothing and keeps the order', async t => {
    const plan = { records: 200_000, kills: 2, restarts: 2, partitions: 16, valueBytes: 200 }
    const result = await soak(plan, line => t.diagnostic(line))
    t.diagnostic(`doubled ${result.repeated} of ${plan.records}`)
    assert.deepEqual([result.lost, result.outOfOrder, result.exitCode], [0, 0, 0])
  })
})

/** The same numbers in each of four partitions. */
async function write(
  cluster: KafkaCluster,
  topic: string,
  from: number,
  to: number,
  signal: AbortSignal,
): Promise<void> {
  await Promise.all(
    [0, 1, 2, 3].map(async partition => {
      const lane = cluster.sink.open<null>(
        { topic, partition, topicId: '' },
        () => true,
        () => {},
      )
      for (let n = from; n < to; n += 100)
        lane.send(numberedBatch(n, 100, { codec: 'lz4', valueBytes: 200, timestampMs: Date.now() }), null)
      await lane.idle(signal)
      lane.close(false)
    }),
  )
}
