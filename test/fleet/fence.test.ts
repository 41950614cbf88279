import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkpointText } from '../../engine/mirror/decide/checkpointMetadata.ts'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { kindEntries } from '../../engine/wiring/kinds.ts'
import { manualClock } from '../fakes/clock.ts'
import { batchOf, valuesOf } from '../fakes/kafka/batches.ts'
import { fakeKafka } from '../fakes/kafka/cluster.ts'
import { workerOf } from './workerOf.ts'

/** A worker that mirrors topic `t` from one cluster in memory to another, and records that go on coming, numbered. */
async function mirroring(partitions = 4) {
  const parts = [...Array(partitions).keys()].map(partition => ({ topic: 't', partition }))
  const clock = manualClock()
  const [east, west] = ['east', 'west'].map(name => fakeKafka({ clock, name, brokers: 1, chance: () => 0.5 }))
  if (!east || !west) throw new Error('two clusters')
  for (const cluster of [east, west]) cluster.topic('t', partitions)
  const cuts: string[] = []
  const [source, destination] = [east, west].map((cluster, at) => {
    const cut = () => {
      cuts.push(at === 0 ? 'east' : 'west')
      cluster.cut()
    }
    return Object.create(cluster, { cut: { value: cut } }) as KafkaCluster
  }) as [KafkaCluster, KafkaCluster]
  const kafka = (name: string) => (name === 'east' ? source : destination)
  const one = workerOf({ clock, kinds: kindEntries, kafka })
  one.flow('f', { kind: 'mirror', spec: { from: 'east', to: 'west', topics: { include: ['t'] } } })
  const metadata = checkpointText({
    ...{ sourceId: east.topicIdOf('t'), destinationId: west.topicIdOf('t'), epoch: -1, destinationNext: null },
  })
  const starts = parts.map(part => ({ ...part, offset: 0n, epoch: -1, metadata }))
  const stored = east.checkpoints.save('millrace.f', starts, () => true, new AbortController().signal)
  await one.registered()
  await clock.advance(1_000)
  await stored
  let written = 0
  const feed = () => {
    for (const part of parts) east.write(part, batchOf([String(written)]))
    written++
    cancelFeed = clock.after(20, feed)
  }
  let cancelFeed = clock.after(0, feed)
  one.assign(
    1,
    parts.map(({ partition }) => `f/t/${partition}`),
  )
  const ends = () => parts.map(part => Number(west.log(part).end))
  const checkpoints = () =>
    parts.map(({ partition }) => Number(east.stored('millrace.f').get(`t/${partition}`)?.offset))
  await clock.until(() => ends().every(end => end > 50), 10_000)
  return {
    ...one,
    ...{ clock, parts, metadata, east, west, ends, checkpoints, cutLinks: cuts },
    stopFeed: () => cancelFeed(),
    written: () => written,
    /** The values of a partition at the destination. */
    copied: (partition: number) =>
      west
        .log({ topic: 't', partition })
        .batches.flatMap(batch => valuesOf(batch as never))
        .map(Number),
    async beaten() {
      const before = one.node()?.version ?? 0
      await clock.until(() => (one.node()?.version ?? 0) > before, 5_000)
    },
  }
}

test('over an outage of 60 s a mirror stores what is acknowledged, pauses, and goes on without a double', async () => {
  const one = await mirroring()
  await one.beaten()
  one.coordination.outage(60_000)
  await one.clock.advance(6_499)
  const lively = one.ends()
  assert.ok(
    lively.every(end => end > 300),
    lively.join(),
  )
  await one.clock.advance(400)
  // The last commit, sent before 6 900 ms, has what was acknowledged.
  const ends = one.ends()
  assert.deepEqual(one.checkpoints(), ends)
  const { produces } = one.west.counts()
  const { commits } = one.east.counts()
  await one.clock.advance(50_000)
  assert.deepEqual([one.west.counts().produces, one.east.counts().commits, one.ends()], [produces, commits, ends])
  await one.clock.until(() => one.ends().every((end, at) => end > (ends[at] ?? 0)), 10_000)
  one.stopFeed()
  await one.clock.until(() => one.ends().every(end => end >= one.written()), 10_000)
  await one.clock.advance(2_000)
  const all = [...Array(one.written()).keys()]
  for (const { partition } of one.parts) assert.deepEqual(one.copied(partition), all)
})

test('at the fence what waits for an answer is cut, its answer changes nothing, and all begins at the checkpoint', async () => {
  const one = await mirroring()
  await one.beaten()
  const answer = one.west.holdAnswers(0, 'Produce')
  one.coordination.outage(30_000)
  await one.clock.advance(6_999)
  assert.deepEqual(one.cutLinks, [])
  const taken = one.ends()
  const before = one.checkpoints()
  assert.ok(taken.some((end, at) => end > (before[at] ?? 0)))
  const { produces } = one.west.counts()
  await one.clock.advance(1)
  // Also a commit without an answer.
  assert.deepEqual(one.cutLinks.sort(), ['east', 'west'])
  answer()
  await one.clock.advance(20_000)
  assert.deepEqual([one.west.counts().produces, one.ends(), one.checkpoints()], [produces, taken, before])
  one.stopFeed()
  await one.clock.until(() => one.checkpoints().every(offset => offset >= one.written()), 20_000)
  for (const { partition } of one.parts) {
    const copied = one.copied(partition)
    const from = before[partition] ?? 0
    // From the checkpoint on, and once more only what was on its way.
    assert.deepEqual(copied.slice(0, taken[partition]), [...Array(taken[partition]).keys()])
    assert.deepEqual(copied.slice(taken[partition])[0], from)
    assert.equal(new Set(copied).size, one.written())
  }
})

test('what is acknowledged when the lease closes is stored, although the rest gets no answer before the fence', async () => {
  const one = await mirroring(1)
  await one.beaten()
  one.coordination.outage(30_000)
  await one.clock.advance(6_450)
  one.west.holdAnswers(0, 'Produce')
  const [acknowledged] = one.ends()
  await one.clock.advance(440)
  assert.deepEqual([one.checkpoints(), one.worker.state().lease], [[acknowledged], 'closing'])
})

test('what is answered while the lease closes is stored too: what was not written is not waited for', async () => {
  const one = await mirroring()
  await one.beaten()
  one.coordination.outage(30_000)
  await one.clock.advance(6_300)
  const answer = one.west.holdAnswers(0, 'Produce')
  await one.clock.advance(300)
  answer()
  await one.clock.advance(290)
  assert.deepEqual(one.checkpoints(), one.ends())
  one.stopFeed()
  await one.clock.until(() => one.checkpoints().every(offset => offset >= one.written()), 60_000)
  for (const { partition } of one.parts) assert.deepEqual(one.copied(partition), [...Array(one.written()).keys()])
})

test('a unit that left without its checkpoint stored begins at what is stored when it comes back, whoever has set it', async () => {
  const one = await mirroring(2)
  const answer = one.east.holdAnswers(0, 'OffsetCommit')
  one.stopFeed()
  await one.clock.advance(1_000)
  // Its flow goes on here with another unit.
  one.assign(2, ['f/t/1'])
  await one.clock.until(() => one.held().names.length === 1, 20_000)
  assert.equal(one.worker.state().dirty, 1)
  answer()
  await one.clock.advance(1_000)
  const [end] = one.ends()
  const back = [{ topic: 't', partition: 0, offset: 7n, epoch: -1, metadata: one.metadata }]
  const set = one.east.checkpoints.save('millrace.f', back, () => true, new AbortController().signal)
  await one.clock.advance(1_000)
  await set
  one.assign(3, ['f/t/0', 'f/t/1'])
  await one.clock.until(() => (one.ends()[0] ?? 0) > (end ?? 0), 10_000)
  await one.clock.advance(1_000)
  assert.equal(one.copied(0)[end ?? 0], 7)
})
