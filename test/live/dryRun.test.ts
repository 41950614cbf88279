import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { openPlain } from '../../rig/openPlain.ts'
import { writePlain } from '../../rig/samples.ts'
import { consumeAll, kafkaClient } from './kafkajs.ts'
import { type JsonLine, millrace } from './millrace.ts'
import { type LiveRig, live, rigFor } from './rigFor.ts'

const longestMs = 120_000
/** V-5, as far as flags can say it: they have neither names nor an overlay. */
const rules = ['clicks\\..*', 'a.b', '(?i)web-.*'].flatMap(pattern => ['--topics', pattern])
const left = ['.*\\.tmp', 'clicks\\.x.'].flatMap(pattern => ['--exclude', pattern])
const byRule: Record<string, readonly string[]> = {
  include: ['clicks.a', 'clicks.xyz', 'clicks.', 'clicks.old', 'axb', 'a.b', 'WEB-1'],
  exclude: ['clicks.b.tmp', 'clicks.d.tmp', 'clicks.xy'],
  none: ['clicks', 'xclicks.a', 'audit', 'audit2', 'extra', 'ledger'],
  reserved: ['__special', '__other', 'east.heartbeats', 'millrace.offsets.f', '__consumer_offsets'],
}

describe('a dry run on real brokers', live, () => {
  let set: LiveRig<Record<never, never>>
  let east: KafkaCluster
  let west: KafkaCluster
  const clients: ReturnType<typeof kafkaClient>[] = []
  const alive = setInterval(() => {}, longestMs)

  before(async () => {
    set = await rigFor({})
    east = openPlain('east', set.east.bootstrap)
    west = openPlain('west', set.west.bootstrap)
    clients.push(kafkaClient(set.east.bootstrap), kafkaClient(set.west.bootstrap))
    await Promise.all(clients.map(({ admin }) => admin.connect()))
  })
  after(async () => {
    clearInterval(alive)
    await Promise.all([...clients.map(client => client.close()), east?.close(), west?.close()])
    await set?.dispose()
  })

  const soon = (t: TestContext) => AbortSignal.any([t.signal, AbortSignal.timeout(longestMs)])
  const dryRun = (t: TestContext, ...more: string[]) => {
    const flags = ['--from', set.east.bootstrap, '--to', set.west.bootstrap, '--dry-run', '--name', 'only-asked']
    return millrace(['mirror', ...flags, ...more], soon(t)).ended
  }
  /** What an independent client sees of both: topics and partitions, offsets of each log, groups and their offsets. */
  const everything = () =>
    Promise.all(
      clients.map(async ({ admin }) => {
        const names = (await admin.listTopics()).toSorted()
        // Other groups of the rig's own tools may come and go; their commits go to Kafka's topic.
        const logs = names.filter(name => name !== '__consumer_offsets')
        const offsets = await Promise.all(logs.map(async topic => [topic, await admin.fetchTopicOffsets(topic)]))
        const { groups } = await admin.listGroups()
        const held = groups.map(group => group.groupId).toSorted()
        const committed = await Promise.all(held.map(async groupId => [groupId, await admin.fetchOffsets({ groupId })]))
        return { names, offsets, committed }
      }),
    )

  test('MIRROR 8: by --dry-run each topic says its rule, its destination and what is in its way, and nothing is written', async t => {
    const signal = soon(t)
    for (const topic of Object.values(byRule).flat()) {
      if (topic !== '__consumer_offsets') await east.admin.createTopic(topic, topic === 'clicks.a' ? 3 : 1)
    }
    const how = { seed: 8, timeMs: 1_700_000_000_000, batches: 1, recordsPerBatch: 10, codec: 'none' } as const
    await writePlain(east, { topic: 'clicks.a', partition: 0 }, how, signal)
    // A group, so that Kafka's own topic is there.
    await consumeAll(set.east.bootstrap, 'clicks.a', 10)
    await west.admin.createTopic('clicks.a', 2)
    // Kafka does not tell them apart, so a.b cannot be made.
    await west.admin.createTopic('a_b', 1)

    const before = await everything()
    const ended = await dryRun(t, ...rules, ...left)
    assert.equal(ended.code, 0, ended.stderr)
    const lines = new Map(ended.lines.map(line => [String(line['topic']), line]))
    assert.equal(lines.size, ended.lines.length)
    assert.equal(lines.size, (await east.admin.look('all')).topics.length)
    for (const [rule, topics] of Object.entries(byRule)) {
      for (const topic of topics) {
        const line = lines.get(topic)
        assert.deepEqual([line?.['rule'], line?.['selected']], [rule, rule === 'include'], topic)
        assert.equal(line?.['destination'], rule === 'include' ? topic : null, topic)
      }
    }
    assert.deepEqual(shownOf(lines.get('clicks.a')), { partitions: 3, there: 2, fault: null })
    assert.deepEqual(shownOf(lines.get('axb')), { partitions: 1, there: null, fault: null })
    const clash = lines.get('a.b')?.['fault'] as { code: string; message: string }
    assert.equal(clash.code, 'config-invalid')
    assert.match(clash.message, /the destination has 'a_b': Kafka does not tell \. and _ apart \(M-20\)/)

    const renamed = await dryRun(t, ...rules, ...left, '--naming', 'east.')
    assert.equal(renamed.code, 0, renamed.stderr)
    const names = renamed.lines.filter(line => line['selected']).map(line => [line['destination'], line['fault']])
    const expected = (byRule['include'] ?? []).map(topic => [`east.${topic}`, null])
    assert.deepEqual(names.toSorted(), expected.toSorted())
    const reserved = await dryRun(t, '--topics', 'axb', '--naming', 'millrace.mirror.')
    const [fault] = reserved.lines.filter(line => line['topic'] === 'axb').map(line => line['fault'])
    assert.match((fault as { message: string }).message, /'millrace\.mirror\.axb', which is reserved \(M-11\)/)

    const named = await dryRun(t, '--topics', '.*')
    for (const topic of byRule['reserved'] ?? []) {
      assert.equal(named.lines.find(line => line['topic'] === topic)?.['rule'], 'reserved', topic)
    }
    const none = await dryRun(t, '--topics', 'of-no-topic')
    assert.equal(none.code, 4, none.stderr)
    assert.deepEqual(await everything(), before)
  })
})

function shownOf(line: JsonLine | undefined): unknown {
  return { partitions: line?.['partitions'], there: line?.['there'], fault: line?.['fault'] }
}
