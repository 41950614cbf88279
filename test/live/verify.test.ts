import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { after, before, describe, it } from 'node:test'
import { codec } from '../../engine/adapters/kafka/native.ts'
import { machineClock } from '../../engine/adapters/local/clock.ts'
import type { Naming } from '../../engine/mirror/spec.ts'
import { type Verified, verify } from '../../engine/mirror/verify.ts'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { deleteRecords } from '../../rig/deleteRecords.ts'
import { openPlain } from '../../rig/openPlain.ts'
import { makeCompacted, type PlainHow, sampleBatch, send, writePlain } from '../../rig/samples.ts'
import { writeTransactions } from '../../rig/transactions.ts'
import { type LiveRig, live, rigFor } from './rigFor.ts'

const signal = AbortSignal.timeout(120_000)
const timeMs = Date.now() - 3_600_000
const group = 'millrace.verified'
const plain: PlainHow = { seed: 1, timeMs, batches: 3, recordsPerBatch: 100, codec: 'lz4' }

describe('verify --deep', live, () => {
  let set: LiveRig<Record<string, never>>
  let east: KafkaCluster
  let west: KafkaCluster
  before(async () => {
    set = await rigFor({})
    east = openPlain('east', set.east.bootstrap)
    west = openPlain('west', set.west.bootstrap)
  })
  after(async () => {
    await Promise.all([east?.close(), west?.close()])
    await set?.dispose()
  })

  type More = { sinceOffset?: bigint; naming?: Naming }
  async function verified(topic: string, more: More = {}): Promise<Verified[]> {
    const how = { source: east, destination: west, topics: [topic], group, codec, clock: machineClock() }
    return verify({ ...how, naming: 'identity', sinceOffset: null, ...more, progress: () => {} }, signal)
  }
  async function one(topic: string, more: More = {}): Promise<Verified> {
    const [first] = await verified(topic, more)
    assert.ok(first)
    return first
  }
  /** The same records on both sides, made from one seed; the topic has one partition. */
  async function both(topic: string, how = plain): Promise<{ topic: string; partition: number }> {
    const part = { topic, partition: 0 }
    for (const side of [east, west]) {
      await side.admin.createTopic(topic, 1)
      await writePlain(side, part, how, signal)
    }
    return part
  }

  it('compares a topic with the one that a naming makes of it', async () => {
    const part = { topic: 'verify.named', partition: 0 }
    await east.admin.createTopic(part.topic, 1)
    await west.admin.createTopic(`east.${part.topic}`, 1)
    const record = { timestamp: BigInt(timeMs), key: null, value: Buffer.from('same'), headers: [] }
    await send(east, part, [sampleBatch([record], 'lz4')], signal)
    await send(west, { ...part, topic: `east.${part.topic}` }, [sampleBatch([record], 'none')], signal)
    assert.equal((await one(part.topic, { naming: { prefix: 'east.' } })).verdict, 'equal')
    assert.equal((await one(part.topic)).verdict, 'different')
  })

  it('finds the same records equal, however they are batched and compressed', async () => {
    const topic = 'verify.equal'
    await east.admin.createTopic(topic, 3)
    await west.admin.createTopic(topic, 4)
    for (const partition of [0, 1, 2]) {
      await writePlain(east, { topic, partition }, { ...plain, codec: 'zstd' }, signal)
      const other = { ...plain, batches: 6, recordsPerBatch: 50, codec: 'gzip' } as const
      await writePlain(west, { topic, partition }, other, signal)
    }
    const found = await verified(topic)
    assert.deepEqual(
      found.map(({ partition, verdict, tally }) => [partition, verdict, tally.equal, tally.records]),
      [0, 1, 2].map(partition => [partition, 'equal', 300, 300]),
    )
    assert.deepEqual([found[0]?.sourceFrom, found[0]?.sourceTo], [0n, 300n])
  })

  it('names the offsets of what is missing and what is extra', async () => {
    const part = await both('verify.different')
    const strange = { timestamp: BigInt(timeMs), key: null, value: Buffer.from('by hand'), headers: [] }
    await send(west, part, [sampleBatch([strange], 'none')], signal)
    await send(east, part, [sampleBatch([{ ...strange, value: Buffer.from('not copied') }], 'none')], signal)
    const { verdict, tally } = await one(part.topic)
    assert.equal(verdict, 'different')
    assert.deepEqual([tally.equal, tally.missing, tally.extra], [300, 1, 1])
    assert.deepEqual([tally.firstMissing, tally.firstExtra], [300n, 300n])
  })

  it('tells what was written twice', async () => {
    const part = await both('verify.repeated')
    await writePlain(west, part, { ...plain, batches: 1 }, signal)
    const { verdict, tally } = await one(part.topic)
    assert.deepEqual([verdict, tally.equal, tally.repeated], ['repeated', 300, 100])
  })

  it('does not miss what the destination has lost at its start', async () => {
    const part = await both('verify.expired')
    await deleteRecords(set.west.bootstrap, part, 120n)
    const { verdict, tally } = await one(part.topic)
    assert.deepEqual([verdict, tally.equal, tally.expired, tally.missing], ['equal', 180, 120, 0])
  })

  it('reads from the offset that it was given', async () => {
    const part = await both('verify.since')
    const { sourceFrom, verdict, tally } = await one(part.topic, { sinceOffset: 250n })
    assert.deepEqual([sourceFrom, verdict, tally.equal, tally.records], [250n, 'equal', 50, 50])
  })

  it('asks for nothing from the checkpoint on', async () => {
    const part = await both('verify.checkpoint', { ...plain, batches: 2 })
    await writePlain(east, part, { ...plain, seed: 2, batches: 1 }, signal)
    const unchecked = await one(part.topic)
    assert.deepEqual([unchecked.verdict, unchecked.tally.missing, unchecked.sourceTo], ['different', 100, 300n])
    await east.checkpoints.save(group, [{ ...part, offset: 200n, epoch: -1, metadata: '' }], () => true, signal)
    const { verdict, sourceTo, tally } = await one(part.topic)
    assert.deepEqual([verdict, sourceTo, tally.records, tally.missing], ['equal', 200n, 200, 0])
  })

  it('compares what a reader of committed transactions sees', async () => {
    const part = { topic: 'verify.transactions', partition: 0 }
    for (const [side, { bootstrap }] of [
      [east, set.east],
      [west, set.west],
    ] as const) {
      await side.admin.createTopic(part.topic, 1)
      const how = { seed: 1, timeMs, committed: 4, aborted: 2, recordsPerTransaction: 20 }
      await writeTransactions(bootstrap, part, how)
    }
    const { verdict, tally } = await one(part.topic)
    assert.deepEqual([verdict, tally.equal, tally.records], ['equal', 80, 80])
  })

  it('compares the last values of a compacted topic', async () => {
    const topic = 'verify.compacted'
    const how = { seed: 1, timeMs, keys: 200, rounds: 4, recordsPerBatch: 50 }
    await makeCompacted(east, topic, how, machineClock(), signal)
    await makeCompacted(west, topic, { ...how, recordsPerBatch: 25 }, machineClock(), signal)
    const { verdict, tally } = await one(topic)
    assert.deepEqual([verdict, tally.equal, tally.records], ['equal', 200, 200])
    const other = sampleBatch(
      [{ timestamp: 1n, key: Buffer.from('7'), value: Buffer.from('other'), headers: [] }],
      'none',
    )
    await send(west, { topic, partition: 0 }, [other], signal)
    const changed = await one(topic)
    assert.deepEqual([changed.verdict, changed.tally.missing, changed.tally.extra], ['different', 1, 1])
  })

  it('finds everything missing where the destination has no such topic', async () => {
    const part = { topic: 'verify.nowhere', partition: 0 }
    await east.admin.createTopic(part.topic, 1)
    await writePlain(east, part, plain, signal)
    const { verdict, tally } = await one(part.topic)
    assert.deepEqual([verdict, tally.missing, tally.firstMissing], ['different', 300, 0n])
  })

  it('is unfinished when it is stopped', async () => {
    const part = await both('verify.stopped')
    const stop = new AbortController()
    const how = { source: east, destination: west, topics: [part.topic], group, codec, clock: machineClock() }
    const progress = () => stop.abort(new Error('stopped'))
    const [found] = await verify({ ...how, naming: 'identity', sinceOffset: null, progress }, stop.signal)
    assert.deepEqual([found?.verdict, found?.fault], ['unfinished', null])
  })
})
