import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { codec } from '../../engine/adapters/kafka/native.ts'
import { machineClock } from '../../engine/adapters/local/clock.ts'
import { provenanceOf, provenanceTopicName, readProvenance } from '../../engine/mirror/provenanceTopic.ts'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { offsetOf } from '../../rig/readLog.ts'
import { writePlain } from '../../rig/samples.ts'
import { flowsFile, mirrorFlow } from './flowsFile.ts'
import { type JsonLine, millrace, type RunningMillrace } from './millrace.ts'
import { live } from './rigFor.ts'
import { type TwoClusters, withTwoClusters } from './twoClusters.ts'

const longestMs = 120_000
/** As `refreshMs` of `mirrorFlow`, and what a look takes itself. */
const lookMs = 1_100

describe('mirrors that lead back to where the records came from', live, () => {
  let set: TwoClusters['set']
  let east: KafkaCluster
  let west: KafkaCluster
  withTwoClusters(longestMs, two => {
    ;({ set, east, west } = two)
  })

  const soon = (t: TestContext) => AbortSignal.any([t.signal, AbortSignal.timeout(longestMs)])
  /** A fleet of its own that has one flow. */
  const fleet = (t: TestContext, flow: string, topics: string[], more: Record<string, unknown> = {}) => {
    const file = flowsFile(t, { east: set.east.bootstrap, west: set.west.bootstrap })
    file.write({ [flow]: mirrorFlow(topics, more) })
    return millrace(['run', '-c', file.path], soon(t))
  }
  const back = { from: 'west', to: 'east' }
  const write = (cluster: KafkaCluster, topic: string, records: number, signal: AbortSignal) => {
    const how = { seed: topic, timeMs: 1_700_000_000_000, batches: records / 10, recordsPerBatch: 10, codec: 'lz4' }
    return writePlain(cluster, { topic, partition: 0 }, { ...how, codec: 'lz4' }, signal)
  }
  const endOf = (cluster: KafkaCluster, topic: string) => offsetOf(cluster, { topic, partition: 0 }, 'end')
  const copied = (running: RunningMillrace, records: number) =>
    running.line(line => line.type === 'progress' && line['records'] === records)
  const loopAt = (topic: string) => (line: JsonLine) => line['code'] === 'mirror-loop' && line['topic'] === topic
  /** Until so many looks of a running fleet have gone by: it tells of each second. */
  const looks = (running: RunningMillrace, count: number) => {
    const untilMs = Date.now() + count * lookMs
    return running.line(line => line.type === 'progress' && Date.parse(String(line['at'])) >= untilMs)
  }
  /** Until a flow has written down, at its destination, that it has copied the topic. */
  const hasCopied = async (cluster: KafkaCluster, flow: string, topic: string, signal: AbortSignal) => {
    for (;;) {
      const view = await cluster.admin.look('all')
      const how = { codec, clock: machineClock(), signal }
      const read = await readProvenance(cluster, view, [provenanceTopicName(flow)], null, how)
      if ((provenanceOf(read, flow, topic)?.parts ?? 0) > 0) return
      await delay(100, undefined, { signal })
    }
  }
  const topicsOf = async (cluster: KafkaCluster, pattern: RegExp) =>
    (await cluster.admin.look('all')).topics
      .map(one => one.topic)
      .filter(name => pattern.test(name))
      .sort()

  test('MIRROR 19: of two fleets that mirror against each other the later one is refused, and nothing comes back', async t => {
    const signal = soon(t)
    const topic = 'm19'
    await east.admin.createTopic(topic, 1)
    await write(east, topic, 100, signal)
    const first = fleet(t, 'm19-there', [topic])
    await copied(first, 100)
    await hasCopied(west, 'm19-there', topic, signal)

    const flags = ['--from', set.west.bootstrap, '--to', set.east.bootstrap, '--topics', topic, '--dry-run']
    const asked = await millrace(['mirror', ...flags, '--name', 'm19-back'], signal).ended
    const preview = asked.lines.find(line => line['topic'] === topic)?.['fault'] as { code: string; message: string }
    assert.equal(preview.code, 'mirror-loop', asked.stdout)

    const later = fleet(t, 'm19-back', [topic], back)
    const event = await later.line(loopAt(topic))
    assert.equal(event['state'], 'refused')
    const { clusterId } = await east.admin.look([])
    assert.match(String(event['message']), new RegExp(`by flow m19-there over ${clusterId} to the source`))
    assert.match(String(event['hint']), /exclude the topic/)
    await looks(later, 20)
    assert.equal(await endOf(east, topic), 100n)
    assert.equal(later.child.exitCode, null)

    await write(east, topic, 50, signal)
    await copied(first, 150)
    for (const running of [first, later]) running.child.kill('SIGTERM')
    const [one, two] = await Promise.all([first.ended, later.ended])
    assert.equal(one.code, 0, one.stderr)
    assert.equal(two.code, 1, two.stderr)
    assert.deepEqual(statesOf(two.lines), [[topic, 'refused', 0]])
    assert.equal(two.lines.filter(loopAt(topic)).length, 1)
    assert.deepEqual([await endOf(east, topic), await endOf(west, topic)], [150n, 150n])
  })

  test('MIRROR 19: of two fleets that begin at the same moment exactly one goes on', async t => {
    const signal = soon(t)
    const topic = 'm19.at-once'
    for (const cluster of [east, west]) {
      await cluster.admin.createTopic(topic, 1)
      await write(cluster, topic, 20, signal)
    }
    const [there, here] = [fleet(t, 'at-once-there', [topic]), fleet(t, 'at-once-back', [topic], back)]
    const refused = await Promise.race([there, here].map(one => one.line(loopAt(topic)).then(() => one)))
    const going = refused === there ? here : there
    await copied(going, 20)
    await looks(refused, 5)
    const source = going === there ? east : west
    await write(source, topic, 10, signal)
    await copied(going, 30)
    for (const running of [there, here]) running.child.kill('SIGTERM')
    const [one, two] = await Promise.all([going.ended, refused.ended])
    assert.equal(one.code, 0, one.stdout)
    assert.deepEqual(statesOf(one.lines), [[topic, 'running', 30]])
    assert.deepEqual(statesOf(two.lines), [[topic, 'refused', 0]])
    assert.equal(await endOf(source, topic), 30n)
  })

  test('two flows that put a prefix before each name copy each topic once, not its copies', async t => {
    const signal = soon(t)
    for (const [cluster, topic] of [
      [east, 'pp-east'],
      [west, 'pp-west'],
    ] as const) {
      await cluster.admin.createTopic(topic, 1)
      await write(cluster, topic, 20, signal)
    }
    const pattern = '((east|west)\\.)*pp-.*'
    const there = fleet(t, 'pp-there', [pattern], { naming: { prefix: 'east.' } })
    const here = fleet(t, 'pp-back', [pattern], { ...back, naming: { prefix: 'west.' } })
    await Promise.all([copied(there, 20), copied(here, 20)])
    await Promise.all([there.line(loopAt('west.pp-west')), here.line(loopAt('east.pp-east'))])
    await Promise.all([looks(there, 5), looks(here, 5)])
    assert.deepEqual(await topicsOf(east, /pp-(east|west)$/), ['pp-east', 'west.pp-west'])
    assert.deepEqual(await topicsOf(west, /pp-(east|west)$/), ['east.pp-east', 'pp-west'])
    for (const running of [there, here]) running.child.kill('SIGTERM')
    const [one, two] = await Promise.all([there.ended, here.ended])
    const mine = [
      ['pp-east', 'running', 20],
      ['west.pp-west', 'refused', 0],
    ]
    assert.deepEqual(statesOf(one.lines), mine)
    assert.deepEqual(statesOf(two.lines).toSorted(), [
      ['east.pp-east', 'refused', 0],
      ['pp-west', 'running', 20],
    ])
  })

  test('in one cluster a topic is not copied onto itself, and copies under another name are not copied again', async t => {
    const signal = soon(t)
    const topic = 'one-cluster'
    await east.admin.createTopic(topic, 1)
    await write(east, topic, 20, signal)
    const { clusterId } = await east.admin.look([])
    const inOne = (...more: string[]) => {
      const flags = ['mirror', '--from', set.east.bootstrap, '--to', set.east.bootstrap, '--until-end', ...more]
      return millrace(flags, signal).ended
    }
    const same = await inOne('--topics', topic)
    assert.equal(same.code, 2, same.stderr)
    assert.ok(same.stdout.includes(`the same cluster ${clusterId}`), same.stdout)

    const again = await inOne('--topics', '.*one-cluster', '--naming', 'copy.', '--name', 'one-again')
    assert.equal(again.code, 1, again.stderr)
    assert.deepEqual(statesOf(again.lines), [[topic, 'refused', 0]])

    for (const records of [20, 0]) {
      const apart = await inOne('--topics', topic, '--naming', 'copy.', '--name', 'one-apart')
      assert.equal(apart.code, 0, apart.stdout)
      assert.deepEqual(statesOf(apart.lines), [[topic, 'running', records]])
    }
    assert.deepEqual(await topicsOf(east, /one-cluster$/), [`copy.${topic}`, topic])
    assert.equal(await endOf(east, `copy.${topic}`), 20n)
    assert.equal(await endOf(east, topic), 20n)
  })
})

/** Topic, state and records of each topic in the summary. */
function statesOf(lines: readonly JsonLine[]): unknown[][] {
  const last = lines.findLast(line => line.type === 'summary')
  return ((last?.['topics'] ?? []) as JsonLine[]).map(({ topic, state, records }) => [topic, state, records])
}
