import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { connector } from '../../engine/adapters/kafka/connect.ts'
import { fetchApi } from '../../engine/adapters/kafka/frames/fetch.ts'
import { plainSecurity } from '../../engine/adapters/kafka/login.ts'
import { MemoryAccount } from '../../engine/adapters/kafka/slab.ts'
import { kafka } from '../../rig/kafka.ts'
import { want } from '../../rig/part.ts'
import {
  clock,
  loose,
  numbered,
  numbersOf,
  type Opened,
  openCluster,
  startCopy,
  topicIdOf,
  upTo,
  write,
} from './kafkaCopy.ts'
import { type LiveRig, live, rigFor } from './rigFor.ts'

const wishes = () => ({ three: want(kafka, { brokers: 3, fastFailover: true }) })
const replicas = { replicas: 3, configs: { 'min.insync.replicas': '2' } }

describe('three brokers', live, () => {
  let set: LiveRig<ReturnType<typeof wishes>>
  const account = new MemoryAccount({ poison: true })
  before(async () => {
    set = await rigFor(wishes())
  })
  after(() => set.dispose())

  const open = (t: TestContext, name: 'three' | 'east' | 'west'): Opened => {
    const bootstrap = name === 'three' ? set.parts.three.address.bootstrap : set[name].bootstrap
    const cluster = openCluster(name, bootstrap, account)
    t.after(() => cluster.close())
    return cluster
  }

  const sockets = () => process.getActiveResourcesInfo().filter(name => name === 'TCPSocketWrap').length

  it('KAFKA 27: two hundred units on two and two brokers need no more than three links a broker', async t => {
    await using own = await rigFor({ from: want(kafka, { brokers: 2 }), to: want(kafka, { brokers: 2 }) })
    const topic = `k27-${process.pid}`
    const partitions = 200
    const openOwn = (name: 'from' | 'to') => {
      const cluster = openCluster(name, own.parts[name].address.bootstrap, account)
      t.after(() => cluster.close())
      return cluster
    }
    const [from, to] = [openOwn('from'), openOwn('to')]
    await Promise.all([from.admin.createTopic(topic, partitions), to.admin.createTopic(topic, partitions)])
    // What kafkajs made the topics with is not a link.
    await Promise.all([from.close(), to.close()])
    const [source, sink] = [openOwn('from'), openOwn('to')]
    const before = sockets()
    const topicId = await topicIdOf(source, topic)
    const parts = Array.from({ length: partitions }, (_, partition) => ({ topic, partition }))
    await Promise.all(parts.map(part => write(source, part, [numbered(0, 1)])))
    const copies = parts.map(part => startCopy(source, sink, { part: { ...part, topicId }, to: part }))
    await Promise.all(copies.map(copy => copy.until(1n)))
    const group = `millrace.k27-${process.pid}`
    const entries = parts.map(part => ({ ...part, offset: 1n, epoch: 0, metadata: '{}' }))
    await source.checkpoints.save(group, entries, () => true, AbortSignal.timeout(10_000))
    const links = sockets() - before
    t.diagnostic(`${links} links`)
    assert.ok(links <= 12, `${links} links`)
    await Promise.all(copies.map(copy => copy.end()))
    assert.equal(account.heldBytes, 0)
    await Promise.all([source.close(), sink.close()])
  })

  it('KAFKA 19: an old epoch is answered with 74, the leader and where it is', async t => {
    const part = { topic: `k19-frames-${process.pid}`, partition: 0 }
    const three = open(t, 'three')
    await three.admin.createTopic(part.topic, 1, replicas)
    await write(three, part, [numbered(0, 10)])
    const leaderNow = async () => {
      const { topics } = await three.admin.look([part.topic])
      const found = topics[0]?.partitions[0]
      assert.ok(found && topics[0])
      return { ...found, topicId: topics[0].topicId }
    }
    const old = await leaderNow()
    const broker = set.parts.three.brokers.find(one => one.address.id === old.leader)
    assert.ok(broker)
    await broker.restart()
    let now = await leaderNow()
    while (now.leader < 0 || now.leaderEpoch === old.leaderEpoch) {
      await delay(20)
      now = await leaderNow()
    }
    const address = set.parts.three.brokers.find(one => one.address.id === now.leader)?.address
    assert.ok(address)
    const how = { cluster: 'three', clientId: 'millrace', security: plainSecurity, account, clock, caps: new Map() }
    const link = await connector(how)(address, 'fetch')
    t.after(() => link.end(null))
    const sizes = { maxWaitMs: 500, minBytes: 1, maxBytes: 1_000_000, isolation: 1, rack: '' } as const
    const place = { partition: 0, leaderEpoch: old.leaderEpoch, offset: 0n, lastFetchedEpoch: -1, maxBytes: 1_000_000 }
    const topics = [{ topic: part.topic, topicId: now.topicId, partitions: [place] }]
    const { answer, frame } = await link.ask(fetchApi, { ...sizes, topics }, { timeoutMs: 10_000 })
    const found = answer.topics[0]?.partitions[0]
    assert.equal(found?.error, 74)
    assert.deepEqual(found?.leader, { id: now.leader, epoch: now.leaderEpoch })
    assert.deepEqual(
      answer.endpoints.map(({ id, host, port }) => ({ id, host, port })),
      [address],
    )
    frame.release()
  })

  it('KAFKA 19: a broker that goes in good order costs at most one Metadata request, and the copy goes on', async t => {
    const [three, west] = [open(t, 'three'), open(t, 'west')]
    const topic = `k19-${process.pid}`
    await Promise.all([three.admin.createTopic(topic, 3, replicas), west.admin.createTopic(topic, 3)])
    const topicId = await topicIdOf(three, topic)
    const copies = [0, 1, 2].map(partition =>
      startCopy(three, west, { part: { topic, partition, topicId }, to: { topic, partition } }),
    )
    const writer = open(t, 'three')
    let written = 0
    const writeSome = async () => {
      await Promise.all([0, 1, 2].map(partition => write(writer, { topic, partition }, [numbered(written, 10)])))
      written += 10
      await Promise.all(copies.map(copy => copy.until(BigInt(written))))
    }
    for (let n = 0; n < 5; n++) await writeSome()
    const before = three.counts().metadataRequests
    const [, second] = set.parts.three.brokers
    assert.ok(second)
    await second.stop()
    for (let n = 0; n < 20; n++) await writeSome()
    assert.ok(three.counts().metadataRequests - before <= 1, `${three.counts().metadataRequests - before} requests`)
    await second.restart()
    for (let n = 0; n < 5; n++) await writeSome()
    await Promise.all(copies.map(copy => copy.end()))
    for (const copy of copies) assert.deepEqual(copy.odd, [])
    for (const partition of [0, 1, 2]) assert.deepEqual(await numbersOf(west, { topic, partition }), upTo(written))
    assert.equal(account.heldBytes, 0)
  })

  it('brokers killed one after another under a copy within the cluster lose and double nothing', async t => {
    const [from, to] = [open(t, 'three'), open(t, 'three')]
    const [topic, copied] = [`kills-${process.pid}`, `kills-copy-${process.pid}`]
    await from.admin.createTopic(topic, 3, replicas)
    await to.admin.createTopic(copied, 3, replicas)
    const topicId = await topicIdOf(from, topic)
    const odd: unknown[] = []
    const parts = [0, 1, 2]
    const writers = parts.map(partition =>
      from.sink.open<number>(
        { topic, partition, topicId: '' },
        () => true,
        outcome => {
          if (outcome.is !== 'acked') odd.push(outcome)
        },
      ),
    )
    const copies = parts.map(partition =>
      startCopy(from, to, { part: { topic, partition, topicId }, to: { topic: copied, partition } }),
    )
    let written = 0
    let on = true
    const writing = (async () => {
      for (; on; written += 10) {
        // While a partition stands, no more than it takes to see it move again.
        while (on && written > Math.min(...copies.map(copy => Number(copy.ackedTo))) + 2_000) await delay(5)
        for (const lane of writers) lane.send(loose(numbered(written, 10, { bytes: 1_000 })), written)
        await delay(5)
      }
    })()
    for (const broker of set.parts.three.brokers.slice(0, 2)) {
      const mark = copies.map(copy => copy.ackedTo)
      await broker.kill()
      // Each partition moves again before the broker is back.
      await Promise.all(copies.map((copy, i) => copy.until((mark[i] ?? 0n) + 500n)))
      await broker.restart()
    }
    on = false
    await writing
    await Promise.all(writers.map(lane => lane.idle(AbortSignal.timeout(30_000))))
    for (const lane of writers) lane.close(false)
    await Promise.all(copies.map(copy => copy.until(BigInt(written))))
    await Promise.all(copies.map(copy => copy.end()))
    assert.deepEqual([...odd, ...copies.flatMap(copy => copy.odd)], [])
    for (const partition of parts) {
      assert.deepEqual(await numbersOf(from, { topic, partition }), upTo(written))
      assert.deepEqual(await numbersOf(to, { topic: copied, partition }), upTo(written))
    }
    t.diagnostic(`${written} records in each partition`)
    assert.equal(account.heldBytes, 0)
    assert.equal(from.counts().producerResets + to.counts().producerResets, 0)
  })
})
