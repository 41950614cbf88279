import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { MemoryAccount } from '../../engine/adapters/kafka/slab.ts'
import { kafka } from '../../rig/kafka.ts'
import { want } from '../../rig/part.ts'
import { clock, type Opened, openCluster, topicIdOf } from './kafkaCopy.ts'
import { type LiveRig, live, rigFor } from './rigFor.ts'
import { eventually } from './runFile.ts'

/** Of its own: thousands of partitions are a burden that other suites shall not carry. */
const wishes = () => ({ many: want(kafka, {}) })
const topics = 5
const partitionsEach = 2_000
const idleMs = 60_000
const soon = () => AbortSignal.timeout(60_000)

describe('thousands of partitions', live, () => {
  let set: LiveRig<ReturnType<typeof wishes>>
  let many: Opened
  const account = new MemoryAccount({ poison: true })
  const topicOf = (i: number) => `many-${i}`
  before(async () => {
    set = await rigFor(wishes())
    many = openCluster('many', set.parts.many.address.bootstrap, account)
    // Of its own, for the client that it makes topics with costs CPU for as long as it is open (W-3).
    const maker = openCluster('many', set.parts.many.address.bootstrap, account)
    for (let i = 0; i < topics; i++) {
      // A broker on a busy machine may need more than one request's time for so many; to make what is there is success.
      await eventually(
        () => maker.admin.createTopic(topicOf(i), partitionsEach).then(() => true),
        AbortSignal.timeout(300_000),
      )
    }
    await maker.close()
  })
  after(async () => {
    await many.close()
    await set.dispose()
  })

  it('KAFKA 24: the offsets of ten thousand partitions go in three requests, and all are stored', async () => {
    const group = 'millrace.many'
    const entries = Array.from({ length: topics * partitionsEach }, (_, i) => ({
      topic: topicOf(i % topics),
      partition: Math.floor(i / topics),
      offset: BigInt(i),
      epoch: 0,
      metadata: '{"v":1,"flow":"many","at":"2026-01-01T00:00:00.000Z"}',
    }))
    // The first commit meets a coordinator that is just being made; that costs requests of its own.
    await many.checkpoints.save(group, entries.slice(0, 1), () => true, soon())
    const commits = many.counts().commits
    const refused = await many.checkpoints.save(group, entries, () => true, soon())
    assert.equal(refused.length, 0)
    assert.equal(many.counts().commits - commits, 3)
    const stored = await many.checkpoints.load(group, 'all', soon())
    assert.equal(stored.length, entries.length)
    const offsets = new Map(stored.map(entry => [`${entry.topic}/${entry.partition}`, entry.offset]))
    for (const { topic, partition, offset } of entries) assert.equal(offsets.get(`${topic}/${partition}`), offset)
  })

  it('KAFKA 26: two thousand idle partitions cost two fetches a second and hardly any CPU', async t => {
    const topic = topicOf(0)
    const topicId = await topicIdOf(many, topic)
    const source = many.source({ isolation: 'read_committed', rack: null })
    const streams = Array.from({ length: partitionsEach }, (_, partition) =>
      source.open({ topic, partition, topicId }, { offset: 0n, epoch: -1 }),
    )
    // Each says once where its log ends, then nothing any more.
    await Promise.all(streams.map(stream => stream.next(soon())))
    const before = many.counts()
    const cpu = process.cpuUsage()
    const startMs = clock.nowMs()
    await delay(idleMs)
    const { user, system } = process.cpuUsage(cpu)
    const fetches = many.counts().fetchRequests - before.fetchRequests
    const share = (user + system) / 10 / (clock.nowMs() - startMs)
    t.diagnostic(`${fetches} fetches and ${share.toFixed(2)} % of one core in ${idleMs / 1000} s`)
    assert.ok(fetches <= 125, `${fetches} fetches`)
    // 2 % on the machine of the design's figures (1.3 seen there); one half as fast shows twice that.
    assert.ok(share <= 4, `${share} % of one core`)
    assert.equal(many.counts().metadataRequests - before.metadataRequests, 0)
    assert.deepEqual(
      streams.filter(stream => stream.trouble() !== null),
      [],
    )
    for (const stream of streams) stream.close()
    assert.equal(account.heldBytes, 0)
  })
})
