import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { audit } from '../../rig/audit.ts'
import { openPlain } from '../../rig/openPlain.ts'
import { kafkaClient } from './kafkajs.ts'
import { type JsonLine, measured, type RunningMillrace } from './millrace.ts'
import { checkpointsOf, partitionsAt, settingsOf, untilEnd, write } from './mirrorPlaces.ts'
import { type LiveRig, live, rigFor } from './rigFor.ts'
import { eventually, runFlow, stopped, summaryTopics } from './runFile.ts'

const longestMs = 120_000

describe('the topics of a mirror on real brokers', live, () => {
  let set: LiveRig<Record<never, never>>
  let east: KafkaCluster
  let west: KafkaCluster
  let tools: ReturnType<typeof kafkaClient>
  const alive = setInterval(() => {}, longestMs)

  before(async () => {
    set = await rigFor({})
    east = openPlain('east', set.east.bootstrap)
    west = openPlain('west', set.west.bootstrap)
    tools = kafkaClient(set.east.bootstrap)
  })
  after(async () => {
    clearInterval(alive)
    await Promise.all([east?.close(), west?.close(), tools?.close()])
    await set?.dispose()
  })

  const ends = (signal: AbortSignal) => AbortSignal.any([signal, AbortSignal.timeout(longestMs)])
  const run = (flow: string, words: Parameters<typeof runFlow>[1], signal: AbortSignal) =>
    runFlow(flow, words, { east: set.east, west: set.west, signal })
  const event = (running: RunningMillrace, code: string, topic?: string): Promise<JsonLine> =>
    running.line(line => line.type === 'event' && line['code'] === code && (!topic || line['topic'] === topic))

  test('MIRROR 10: a topic that grows under load is grown and copied whole from offset 0, and nothing else is touched', async t => {
    const signal = ends(t.signal)
    const topic = 'm10'
    await east.admin.createTopic(topic, 4)
    const words = { topics: { names: [topic] }, start: 'latest' }
    const running = await run(topic, words, signal)
    await eventually(async () => ((await checkpointsOf(east, topic, signal)).size === 4 ? true : null), signal)
    const written = await load(east, topic, 4, signal)
    await eventually(async () => ((await written.copied(west)) ? true : null), signal)

    await running.edit({ ...words, paused: { [topic]: 1 } })
    await eventually(async () => ((await units(running)).has(1) ? null : true), signal)
    const pausedAt = (await checkpointsOf(east, topic, signal)).get(`${topic}/1`)
    await east.admin.growTopic(topic, 8)
    await Promise.all([4, 5, 6, 7].map(partition => write(east, { topic, partition }, [0, 500], signal)))

    const before = await units(running)
    await eventually(async () => {
      const now = await units(running)
      for (const partition of [0, 2, 3]) {
        // A unit that is started anew is away for a moment, or begins at what is stored.
        const [was, is] = [before.get(partition), now.get(partition)]
        assert.ok(was !== undefined && is !== undefined && is >= was, `${partition}: ${was} then ${is}`)
        before.set(partition, is)
      }
      if ((await partitionsAt(west, topic)) < 8) return null
      const [copied] = await west.admin.offsets([{ topic, partition: 4 }], 'end')
      const isStarted = (await checkpointsOf(east, topic, signal)).has(`${topic}/4`)
      if (copied?.offset && copied.offset > 0n) assert.ok(isStarted, 'copied before its start was stored')
      return copied?.offset === 500n ? true : null
    }, signal)
    const counts = await written.end()
    for (const partition of [0, 2, 3]) await untilEnd(west, { topic, partition }, counts[partition] ?? 0, signal)
    assert.equal((await checkpointsOf(east, topic, signal)).get(`${topic}/1`), pausedAt)
    await untilEnd(west, { topic, partition: 1 }, pausedAt ?? -1, signal)
    assert.ok((counts[1] ?? 0) > (pausedAt ?? 0), 'nothing was written while it was paused')

    await running.edit(words)
    await untilEnd(west, { topic, partition: 1 }, counts[1] ?? 0, signal)
    for (const partition of [5, 6, 7]) await untilEnd(west, { topic, partition }, 500, signal)
    assert.equal(await stopped(running), 0)
    for (const found of await audit(west, topic, [...counts, 500, 500, 500, 500], signal)) {
      assert.deepEqual([found.lost, found.repeated, found.outOfOrder], [0, 0, 0], `${found.partition}`)
    }
  })

  test('a missing topic is made with the settings of the source, and grown to what the source has', async t => {
    const signal = ends(t.signal)
    const configs = { 'retention.ms': '7200000', 'segment.ms': '3600000', 'max.message.bytes': '2000000' }
    await east.admin.createTopic('made.new', 3, { configs: { ...configs, 'min.insync.replicas': '1' } })
    await east.admin.createTopic('made.few', 3)
    await west.admin.createTopic('made.few', 1)
    await write(east, { topic: 'made.new', partition: 2 }, [0, 100], signal)
    await write(east, { topic: 'made.few', partition: 2 }, [0, 100], signal)
    const running = await run('made', { topics: { include: ['made\\..*'] } }, signal)
    await untilEnd(west, { topic: 'made.new', partition: 2 }, 100, signal)
    await untilEnd(west, { topic: 'made.few', partition: 2 }, 100, signal)
    assert.equal(await partitionsAt(west, 'made.new'), 3)
    assert.deepEqual(await settingsOf(west, 'made.new'), configs)
    assert.equal(await stopped(running), 0)
  })

  test('with create: false a missing topic and missing partitions are named once, and copied when somebody has made them', async t => {
    const signal = ends(t.signal)
    await east.admin.createTopic('hand.none', 1)
    await east.admin.createTopic('hand.few', 2)
    await west.admin.createTopic('hand.few', 1)
    const parts = [
      { topic: 'hand.none', partition: 0 },
      { topic: 'hand.few', partition: 0 },
      { topic: 'hand.few', partition: 1 },
    ]
    for (const part of parts) await write(east, part, [0, 50], signal)
    const words = { topics: { include: ['hand\\..*'] }, destination: { create: false } }
    const running = await run('hand', words, signal)
    await untilEnd(west, { topic: 'hand.few', partition: 0 }, 50, signal)
    const none = await event(running, 'destination-missing', 'hand.none')
    const few = await event(running, 'destination-missing', 'hand.few')
    assert.deepEqual(
      [none, few].map(({ message, hint, state, partitions }) => ({ message, hint, state, partitions })),
      [
        {
          message: 'the destination has no topic hand.none',
          hint: 'create it there, or let the flow do it: destination.create',
          state: 'waiting',
          partitions: 1,
        },
        {
          message: 'the destination has no partition 1 of hand.few',
          hint: 'raise its partitions there, or let the flow do it: destination.create',
          state: 'waiting',
          partitions: 1,
        },
      ],
    )
    assert.equal(await partitionsAt(west, 'hand.none'), 0)
    await west.admin.createTopic('hand.none', 1)
    await west.admin.growTopic('hand.few', 2)
    for (const part of parts) await untilEnd(west, part, 50, signal)
    running.child.kill('SIGTERM')
    const ended = await running.ended
    assert.equal(ended.code, 0, ended.stderr)
    assert.equal(ended.lines.filter(line => line['code'] === 'destination-missing').length, 2)
  })

  test('a prefix and renames say what topics are called, and of two that would get one name neither is copied', async t => {
    const signal = ends(t.signal)
    const topics = ['nm.orders', 'nm.one', 'nm.two', 'nm.plain']
    for (const topic of topics) {
      await east.admin.createTopic(topic, 1)
      await write(east, { topic, partition: 0 }, [0, 20], signal)
    }
    const prefixed = await run(
      'nm-prefix',
      { topics: { names: ['nm.orders'] }, naming: { prefix: 'of-east.' } },
      signal,
    )
    await untilEnd(west, { topic: 'of-east.nm.orders', partition: 0 }, 20, signal)
    assert.equal(await stopped(prefixed), 0)

    const rename = [
      { match: 'nm\\.(orders)', to: 'renamed.$1' },
      { match: 'nm\\.(?:one|two)', to: 'renamed.both' },
    ]
    const renamed = await run('nm-rename', { topics: { include: ['nm\\..*'] }, naming: { rename } }, signal)
    await untilEnd(west, { topic: 'renamed.orders', partition: 0 }, 20, signal)
    await untilEnd(west, { topic: 'nm.plain', partition: 0 }, 20, signal)
    for (const [topic, other] of [
      ['nm.one', 'nm.two'],
      ['nm.two', 'nm.one'],
    ] as const) {
      const { message, state } = await event(renamed, 'config-invalid', topic)
      const expected = `${topic}: would be named 'renamed.both', and so would ${other} (M-20)`
      assert.deepEqual([message, state], [expected, 'refused'])
    }
    // A refused partition is a fault of the command.
    assert.equal(await stopped(renamed), 1)
    for (const topic of ['renamed.both', 'nm.one', 'nm.two', 'nm.orders'])
      assert.equal(await partitionsAt(west, topic), 0)
  })

  test('a topic that appears is found by the next looks and copied from offset 0 though start is latest', async t => {
    const signal = ends(t.signal)
    await east.admin.createTopic('later.old', 1)
    await write(east, { topic: 'later.old', partition: 0 }, [0, 30], signal)
    const running = await run('later', { topics: { include: ['later\\..*'] }, start: 'latest' }, signal)
    await eventually(
      async () => ((await checkpointsOf(east, 'later', signal)).get('later.old/0') === 30 ? true : null),
      signal,
    )
    await east.admin.createTopic('later.new', 2)
    await write(east, { topic: 'later.new', partition: 1 }, [0, 30], signal)
    await untilEnd(west, { topic: 'later.new', partition: 1 }, 30, signal)
    await untilEnd(west, { topic: 'later.old', partition: 0 }, 0, signal)
    assert.equal(await stopped(running), 0)
  })

  test('a source topic that is deleted is told after three looks, its copy stays, and the flow goes on', async t => {
    const signal = ends(t.signal)
    for (const topic of ['gone.a', 'gone.b']) {
      await east.admin.createTopic(topic, 1)
      await write(east, { topic, partition: 0 }, [0, 30], signal)
    }
    const running = await run('gone', { topics: { include: ['gone\\..*'] } }, signal)
    for (const topic of ['gone.a', 'gone.b']) await untilEnd(west, { topic, partition: 0 }, 30, signal)
    await tools.admin.deleteTopics({ topics: ['gone.a'] })
    await event(running, 'source-topic-deleted', 'gone.a')
    await write(east, { topic: 'gone.b', partition: 0 }, [30, 60], signal)
    await untilEnd(west, { topic: 'gone.b', partition: 0 }, 60, signal)
    await untilEnd(west, { topic: 'gone.a', partition: 0 }, 30, signal)
    assert.equal(await partitionsAt(east, 'gone.a'), 0)
    await eventually(async () => ((await units(running)).size === 1 ? true : null), signal)
    running.child.kill('SIGTERM')
    const ended = await running.ended
    assert.equal(ended.code, 0, ended.stderr)
    assert.equal(ended.lines.filter(line => line['code'] === 'source-topic-deleted').length, 1)
    assert.deepEqual(
      summaryTopics(ended).map(one => [one['topic'], one['state']]),
      [['gone.b', 'running']],
    )
  })
})

/** The checkpoints of the units that run here, by partition. */
async function units(running: RunningMillrace): Promise<Map<number, number>> {
  const found = await measured(running, 'millrace_mirror_checkpoint')
  return new Map([...found].map(([labels, value]) => [Number(/partition="(\d+)"/.exec(labels)?.[1]), value]))
}

/** Writes numbered records to each of these partitions until `end`, which gives how many there are in each. */
async function load(east: KafkaCluster, topic: string, partitions: number, signal: AbortSignal) {
  const counts = Array.from({ length: partitions }, () => 0)
  let isOver = false
  const writing = counts.map(async (_, partition) => {
    while (!isOver) {
      const from = counts[partition] ?? 0
      await write(east, { topic, partition }, [from, from + 100], signal)
      counts[partition] = from + 100
    }
  })
  return {
    /** Something of each. */
    async copied(west: KafkaCluster): Promise<boolean> {
      const found = await west.admin.offsets(
        counts.map((_, partition) => ({ topic, partition })),
        'end',
      )
      return found.every(({ offset }) => offset !== null && offset > 0n)
    },
    async end(): Promise<number[]> {
      isOver = true
      await Promise.all(writing)
      return counts
    },
  }
}
