import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { MemoryAccount } from '../../engine/adapters/kafka/slab.ts'
import type { Entry } from '../../engine/ports/kafka.ts'
import { javaTool } from './javaTool.ts'
import { type Opened, openCluster } from './kafkaCopy.ts'
import { kafkaClient } from './kafkajs.ts'
import { type LiveRig, live, rigFor } from './rigFor.ts'

const groupTool = 'org.apache.kafka.tools.consumer.group.ConsumerGroupCommand'
const always = () => true
const soon = () => AbortSignal.timeout(30_000)

describe('checkpoints in consumer groups', live, () => {
  let set: LiveRig<Record<never, never>>
  let west: Opened
  before(async () => {
    set = await rigFor({})
    west = openCluster('west', set.west.bootstrap, new MemoryAccount())
  })
  after(async () => {
    await west.close()
    await set.dispose()
  })

  const entryOf = (topic: string, partition: number, metadata = '{}'): Entry => ({
    ...{ topic, partition, metadata },
    offset: BigInt(partition) * 10n,
    epoch: 0,
  })
  const sorted = (entries: Entry[]) => entries.toSorted((a, b) => a.partition - b.partition)

  it("KAFKA 24: offsets are stored, read back, and shown by Kafka's own group tool", async () => {
    const [topic, group] = [`k24-${process.pid}`, `millrace.f-${process.pid}`]
    await west.admin.createTopic(topic, 3)
    const entries = [0, 1, 2].map(partition => entryOf(topic, partition, `{"p":${partition}}`))
    assert.deepEqual(await west.checkpoints.load(group, 'all', soon()), [])
    assert.deepEqual(await west.checkpoints.save(group, entries, always, soon()), [])
    assert.deepEqual(sorted(await west.checkpoints.load(group, 'all', soon())), entries)
    const one = await west.checkpoints.load(group, [{ topic, partition: 1 }], soon())
    assert.deepEqual(one, [entries[1]])
    const lines = await javaTool(groupTool, ['--bootstrap-server', set.west.bootstrap, '--describe', '--group', group])
    const shown = lines.map(line => line.split(/\s+/)).filter(fields => fields[0] === group)
    assert.deepEqual(shown.map(fields => [fields[1], fields[2], fields[3]]).sort(), [
      [topic, '0', '0'],
      [topic, '1', '10'],
      [topic, '2', '20'],
    ])
  })

  it('KAFKA 24: a consumer in the group means group-in-use, and nothing of it is stored', async () => {
    const [topic, group] = [`k24-used-${process.pid}`, `millrace.used-${process.pid}`]
    await west.admin.createTopic(topic, 1)
    assert.deepEqual(await west.checkpoints.save(group, [entryOf(topic, 0)], always, soon()), [])
    const { kafka } = kafkaClient(set.west.bootstrap)
    const consumer = kafka.consumer({ groupId: group })
    await consumer.connect()
    await consumer.subscribe({ topic })
    const joined = new Promise<void>(resolve => void consumer.on(consumer.events.GROUP_JOIN, () => resolve()))
    await consumer.run({ autoCommit: false, eachMessage: async () => {} })
    await joined
    const later = { ...entryOf(topic, 0), offset: 99n }
    const refused = await west.checkpoints.save(group, [later], always, soon())
    assert.deepEqual(refused, [{ part: { topic, partition: 0 }, code: 'group-in-use' }])
    await consumer.disconnect()
    assert.deepEqual(await west.checkpoints.load(group, 'all', soon()), [entryOf(topic, 0)])
  })

  it('KAFKA 24: metadata that is too long is left out, and the offset stored', async () => {
    const [topic, group] = [`k24-long-${process.pid}`, `millrace.long-${process.pid}`]
    await west.admin.createTopic(topic, 2)
    const entries = [entryOf(topic, 0, 'x'.repeat(5_000)), entryOf(topic, 1)]
    assert.deepEqual(await west.checkpoints.save(group, entries, always, soon()), [])
    const stored = await west.checkpoints.load(group, 'all', soon())
    assert.deepEqual(sorted(stored), [entryOf(topic, 0, ''), entryOf(topic, 1)])
  })

  it('several saves within 50 ms go in one request, and each gets its own answer', async () => {
    const [topic, group] = [`k24-join-${process.pid}`, `millrace.join-${process.pid}`]
    await west.admin.createTopic(topic, 8)
    const before = west.counts().commits
    const saved = Array.from({ length: 8 }, (_, p) => west.checkpoints.save(group, [entryOf(topic, p)], always, soon()))
    assert.deepEqual((await Promise.all(saved)).flat(), [])
    assert.equal((await west.checkpoints.load(group, 'all', soon())).length, 8)
    assert.ok(west.counts().commits - before <= 4, 'the first of a group may meet a coordinator that is just loading')
  })

  it('nothing is written while the lease says no, and a save ends with its signal', async () => {
    const [topic, group] = [`k24-lease-${process.pid}`, `millrace.lease-${process.pid}`]
    await west.admin.createTopic(topic, 1)
    const stop = new AbortController()
    const asked = Promise.withResolvers<void>()
    const never = () => {
      asked.resolve()
      return false
    }
    const saving = west.checkpoints.save(group, [entryOf(topic, 0)], never, stop.signal)
    await asked.promise
    stop.abort(new Error('newer entries'))
    await assert.rejects(saving, /newer entries/)
    assert.deepEqual(await west.checkpoints.load(group, 'all', soon()), [])
    await assert.rejects(west.checkpoints.save('', [entryOf(topic, 0)], always, soon()), RangeError)
  })
})
