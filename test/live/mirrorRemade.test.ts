import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { codec } from '../../engine/adapters/kafka/native.ts'
import { machineClock } from '../../engine/adapters/local/clock.ts'
import { provenanceTopicName, readProvenance } from '../../engine/mirror/provenanceTopic.ts'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { audit } from '../../rig/audit.ts'
import { kafkaClient } from './kafkajs.ts'
import type { JsonLine, RunningMillrace } from './millrace.ts'
import { checkpointsOf, groupTool, partitionsAt, untilEnd, write } from './mirrorPlaces.ts'
import { live } from './rigFor.ts'
import { eventually, runFlow, stopped, summaryTopics } from './runFile.ts'
import { soloOf } from './soloOf.ts'
import { type TwoClusters, withTwoClusters } from './twoClusters.ts'

const longestMs = 120_000

describe('a mirror whose topics or checkpoints are taken away, on real brokers', live, () => {
  let set: TwoClusters['set']
  let east: KafkaCluster
  let west: KafkaCluster
  withTwoClusters(longestMs, two => {
    ;({ set, east, west } = two)
  })

  const ends = (signal: AbortSignal) => AbortSignal.any([signal, AbortSignal.timeout(longestMs)])
  const run = (flow: string, words: Parameters<typeof runFlow>[1], signal: AbortSignal) =>
    runFlow(flow, words, { east: set.east, west: set.west, signal })
  const event = (running: RunningMillrace, code: string): Promise<JsonLine> =>
    running.line(line => line.type === 'event' && line['code'] === code)
  const idOf = async (cluster: KafkaCluster, topic: string) => (await cluster.admin.look([topic])).topics[0]?.topicId
  const noHoles = async (topic: string, records: number, signal: AbortSignal) => {
    const [found] = await audit(west, topic, [records], signal)
    assert.deepEqual([found?.records, found?.lost, found?.repeated, found?.outOfOrder], [records, 0, 0, 0])
  }

  /** Deletes a topic, waits for `gone`, and makes it anew. */
  async function madeAnew(
    cluster: KafkaCluster,
    topic: string,
    signal: AbortSignal,
    gone: () => Promise<unknown> = async () => {},
  ): Promise<void> {
    const tools = kafkaClient(cluster === east ? set.east.bootstrap : set.west.bootstrap)
    await tools.admin.deleteTopics({ topics: [topic] })
    await tools.close()
    await eventually(async () => ((await partitionsAt(cluster, topic)) === 0 ? true : null), signal)
    await gone()
    // Who made it meanwhile would be us.
    assert.equal(await partitionsAt(cluster, topic), 0)
    await cluster.admin.createTopic(topic, 1)
  }

  test('MIRROR 16: a source topic made anew with less in it is copied from its start, behind the old records', async t => {
    const signal = ends(t.signal)
    const part = { topic: 'm16.small', partition: 0 }
    await east.admin.createTopic(part.topic, 1)
    await write(east, part, [0, 1_000], signal)
    const words = { topics: { names: [part.topic] } }
    const running = await run('m16-small', words, signal)
    await untilEnd(west, part, 1_000, signal)
    const oldId = await idOf(east, part.topic)
    await madeAnew(east, part.topic, signal)
    await write(east, part, [1_000, 1_030], signal)
    const { oldId: was, newId } = await event(running, 'topic-recreated')
    assert.deepEqual([was, newId], [oldId, await idOf(east, part.topic)])
    await untilEnd(west, part, 1_030, signal)
    running.child.kill('SIGTERM')
    const ended = await running.ended
    assert.equal(ended.code, 0, ended.stderr)
    assert.equal(ended.lines.filter(line => line['code'] === 'topic-recreated').length, 1)
    assert.equal(summaryTopics(ended)[0]?.['gapRecords'], 0)

    const again = await run('m16-small', words, signal)
    await write(east, part, [1_030, 1_040], signal)
    await untilEnd(west, part, 1_040, signal)
    again.child.kill('SIGTERM')
    const second = await again.ended
    assert.deepEqual([second.code, second.lines.filter(line => line.type === 'event')], [0, []])
    await noHoles(part.topic, 1_040, signal)
  })

  test('MIRROR 16: one made anew with more in it than the old checkpoint is copied whole, also when it was away for long', async t => {
    const signal = ends(t.signal)
    const part = { topic: 'm16.large', partition: 0 }
    await east.admin.createTopic(part.topic, 1)
    await write(east, part, [0, 1_000], signal)
    const running = await run('m16-large', { topics: { names: [part.topic] } }, signal)
    await untilEnd(west, part, 1_000, signal)
    const oldId = await idOf(east, part.topic)
    await madeAnew(east, part.topic, signal, () => event(running, 'source-topic-deleted'))
    await write(east, part, [1_000, 3_000], signal)
    const { oldId: was, newId } = await event(running, 'topic-recreated')
    assert.deepEqual([was, newId], [oldId, await idOf(east, part.topic)])
    await untilEnd(west, part, 3_000, signal)
    running.child.kill('SIGTERM')
    const ended = await running.ended
    assert.equal(ended.code, 0, ended.stderr)
    assert.equal(summaryTopics(ended)[0]?.['gapRecords'], 0)
    assert.equal(ended.lines.filter(line => line['code'] === 'source-gap').length, 0)
    await noHoles(part.topic, 3_000, signal)
  })

  test('MIRROR 16: with gaps: stop nothing of a topic made anew is copied, also by the next process, until somebody sets the offset', async t => {
    const signal = ends(t.signal)
    const part = { topic: 'm16.stop', partition: 0 }
    const flow = 'm16-stop'
    await east.admin.createTopic(part.topic, 1)
    await write(east, part, [0, 1_000], signal)
    const words = { topics: { names: [part.topic] }, gaps: 'stop' }
    const running = await run(flow, words, signal)
    await untilEnd(west, part, 1_000, signal)
    await madeAnew(east, part.topic, signal)
    await write(east, part, [1_000, 1_030], signal)
    assert.equal((await event(running, 'topic-recreated'))['state'], 'error')
    assert.equal(await stopped(running), 1)

    const again = await run(flow, words, signal)
    assert.equal((await event(again, 'topic-recreated'))['state'], 'error')
    await untilEnd(west, part, 1_000, signal)
    await groupTool(set.east.bootstrap, flow, part.topic, '--reset-offsets', '--to-earliest', '--execute')
    await untilEnd(west, part, 1_030, signal)
    assert.equal(await stopped(again), 0)
    await noHoles(part.topic, 1_030, signal)
  })

  test('MIRROR 16: a destination topic made anew stops the copy, and with the offset set to the earliest all comes again', async t => {
    const signal = ends(t.signal)
    const part = { topic: 'm16.west', partition: 0 }
    const flow = 'm16-west'
    await east.admin.createTopic(part.topic, 1)
    await write(east, part, [0, 100], signal)
    const words = { topics: { names: [part.topic] } }
    const running = await run(flow, words, signal)
    await untilEnd(west, part, 100, signal)
    await madeAnew(west, part.topic, signal)
    await write(east, part, [100, 200], signal)
    const { state, topic } = await event(running, 'destination-recreated')
    assert.deepEqual([state, topic], ['error', part.topic])
    await untilEnd(west, part, 0, signal)
    assert.equal((await checkpointsOf(east, flow, signal)).get(`${part.topic}/0`), 100)

    assert.equal(await stopped(running), 1)

    const again = await run(flow, words, signal)
    assert.equal((await event(again, 'destination-recreated'))['state'], 'error')
    await untilEnd(west, part, 0, signal)
    await again.edit({ ...words, paused: true })
    await groupTool(set.east.bootstrap, flow, part.topic, '--reset-offsets', '--to-earliest', '--execute')
    await again.edit(words)
    await untilEnd(west, part, 200, signal)
    assert.equal(await stopped(again), 0)
    await noHoles(part.topic, 200, signal)
  })

  test('MIRROR 18: offsets that somebody has deleted stop all partitions, and set to the latest only what is new is copied', async t => {
    const signal = ends(t.signal)
    const topic = 'm18'
    const parts = [0, 1, 2, 3].map(partition => ({ topic, partition }))
    await east.admin.createTopic(topic, 4)
    for (const part of parts) await write(east, part, [0, 50], signal)
    const words = { topics: { names: [topic] } }
    const first = await run(topic, words, signal)
    for (const part of parts) await untilEnd(west, part, 50, signal)
    assert.equal(await stopped(first), 0)
    await groupTool(set.east.bootstrap, topic, topic, '--delete-offsets')
    for (const part of parts) await write(east, part, [50, 60], signal)

    const again = await run(topic, words, signal)
    const { partitions, state } = await event(again, 'checkpoint-lost')
    assert.deepEqual([partitions, state], [4, 'error'])
    for (const part of parts) await untilEnd(west, part, 50, signal)
    assert.equal((await checkpointsOf(east, topic, signal)).size, 0)
    await groupTool(set.east.bootstrap, topic, topic, '--reset-offsets', '--to-latest', '--execute')
    for (const part of parts) await write(east, part, [60, 80], signal)
    for (const part of parts) await untilEnd(west, part, 70, signal)
    assert.equal(await stopped(again), 0)
  })

  test('MIRROR 18: a leader that dies between the starts and their provenance leaves the same starts', async t => {
    const signal = ends(t.signal)
    const part = { topic: 'm18.killed', partition: 0 }
    const flow = 'm18-killed'
    await east.admin.createTopic(part.topic, 1)
    await write(east, part, [0, 30], signal)
    const words = { topics: { names: [part.topic] }, start: 'latest' }
    const killed = new AbortController()
    const { checkpoints } = east
    const dying: KafkaCluster = {
      ...east,
      checkpoints: {
        load: (...args) => checkpoints.load(...args),
        async save(...args) {
          const refused = await checkpoints.save(...args)
          killed.abort()
          return refused
        },
      },
    }
    await soloOf(flow, words, { east: dying, west, stop: AbortSignal.any([signal, killed.signal]) }).done
    assert.equal((await checkpointsOf(east, flow, signal)).get(`${part.topic}/0`), 30)
    const how = { codec, clock: machineClock(), signal }
    const names = [provenanceTopicName(flow)]
    const { records } = await readProvenance(west, await west.admin.look('all'), names, null, how)
    assert.deepEqual(
      [...records.values()].map(one => [one.topic, one.parts]),
      [[part.topic, 0]],
    )

    await write(east, part, [30, 50], signal)
    const running = await run(flow, words, signal)
    await untilEnd(west, part, 20, signal)
    running.child.kill('SIGTERM')
    const ended = await running.ended
    assert.deepEqual([ended.code, ended.lines.filter(line => line.type === 'event')], [0, []])
  })
})
