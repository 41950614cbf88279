import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { connector } from '../../engine/adapters/kafka/connect.ts'
import { initProducerIdApi } from '../../engine/adapters/kafka/frames/initProducerId.ts'
import { produceApi } from '../../engine/adapters/kafka/frames/produce.ts'
import type { Link } from '../../engine/adapters/kafka/link.ts'
import { plainSecurity } from '../../engine/adapters/kafka/login.ts'
import { crc32c } from '../../engine/adapters/kafka/native.ts'
import { MemoryAccount } from '../../engine/adapters/kafka/slab.ts'
import { rewrite } from '../../engine/batch/rewrite.ts'
import type { Outcome, Part } from '../../engine/ports/kafka.ts'
import {
  addressesOf,
  clock,
  endOf,
  loose,
  numbered,
  numbersOf,
  type Opened,
  openCluster,
  topicIdOf,
  upTo,
} from './kafkaCopy.ts'
import { type LiveRig, live, rigFor } from './rigFor.ts'

const timeoutMs = 30_000

describe('own frames on a link of our own', live, () => {
  let set: LiveRig<Record<never, never>>
  let east: Opened
  const account = new MemoryAccount({ poison: true })
  before(async () => {
    set = await rigFor({})
    east = openCluster('east', set.east.bootstrap, account)
  })
  after(async () => {
    await east.close()
    await set.dispose()
  })

  const connect = async (): Promise<Link> => {
    const how = { cluster: 'east', clientId: 'millrace', security: plainSecurity, account, clock, caps: new Map() }
    const [address] = addressesOf(set.east.bootstrap)
    assert.ok(address)
    return connector(how)(address, 'send')
  }

  /** A producer on a topic of its own: what it says by `batch` to a link is one batch of one record. */
  const producerOf = async (name: string) => {
    const part: Part = { topic: `${name}-${process.pid}`, partition: 0 }
    await east.admin.createTopic(part.topic, 1)
    const topicId = await topicIdOf(east, part.topic)
    const link = await connect()
    const { answer } = await link.ask(
      initProducerIdApi,
      { transactionalId: null, timeoutMs, producerId: -1n, producerEpoch: -1 },
      { timeoutMs },
    )
    assert.equal(answer.error, 0)
    const batch = (sequence: number): Buffer => {
      const bytes = numbered(sequence, 1)
      const { producerId, producerEpoch } = answer
      rewrite(bytes, { producerId, producerEpoch, sequence, transactional: false }, null, crc32c)
      return bytes
    }
    const produce = async (over: Link, records: Buffer): Promise<{ error: number; baseOffset: bigint }> => {
      const topics = [{ topic: part.topic, topicId, partitions: [{ partition: 0, records }] }]
      const { answer: told } = await over.ask(produceApi, { transactionalId: null, timeoutMs, topics }, { timeoutMs })
      const found = told.topics[0]?.partitions[0]
      assert.ok(found)
      return { error: found.error, baseOffset: found.baseOffset }
    }
    return { part, link, batch, produce }
  }

  it('KAFKA 16: behind a damaged batch the later ones are refused, and take their places when they come again', async () => {
    const { part, link, batch, produce } = await producerOf('k16')
    const damaged = batch(2)
    damaged.writeUInt8(damaged.readUInt8(70) ^ 1, 70)
    const first = [batch(0), batch(1), damaged, batch(3), batch(4)]
    const answers = await Promise.all(first.map(bytes => produce(link, bytes)))
    assert.deepEqual(
      answers.map(a => a.error),
      [0, 0, 2, 45, 45],
    )
    const again = await Promise.all([2, 3, 4].map(n => produce(link, batch(n))))
    const offsets = [...answers.slice(0, 2), ...again].map(a => a.baseOffset)
    assert.deepEqual(offsets, [0n, 1n, 2n, 3n, 4n])
    assert.deepEqual(await numbersOf(east, part), upTo(5))
    await link.close()
  })

  it('KAFKA 16: a lane does so by itself, and its flow puts a good batch in the place of the refused one', async () => {
    const part: Part = { topic: `k16-lane-${process.pid}`, partition: 0 }
    await east.admin.createTopic(part.topic, 1)
    const outcomes: Outcome<number>[] = []
    const refused = Promise.withResolvers<void>()
    const lane = east.sink.open<number>(
      { ...part, topicId: '' },
      () => true,
      outcome => {
        outcomes.push(outcome)
        if (outcome.is === 'refused') refused.resolve()
      },
    )
    // The CRC of the tail is taken from the batch: a wrong one makes a wrong sum.
    for (let i = 0; i < 5; i++) lane.send({ ...loose(numbered(i, 1)), tailCrc: i === 2 ? 0 : null }, i)
    await refused.promise
    assert.deepEqual(
      outcomes.map(o => o.is),
      ['acked', 'acked', 'refused'],
    )
    lane.instead([[loose(numbered(2, 1)), 22]])
    await lane.idle(AbortSignal.timeout(timeoutMs))
    lane.close(false)
    const acked = outcomes.flatMap(o => (o.is === 'acked' ? [[o.tag, o.baseOffset]] : []))
    assert.deepEqual(acked, [
      [0, 0n],
      [1, 1n],
      [22, 2n],
      [3, 3n],
      [4, 4n],
    ])
    assert.deepEqual(await numbersOf(east, part), upTo(5))
    assert.equal(east.counts().producerResets, 0)
  })

  it('KAFKA 17: a batch whose link was cut comes again with its sequence and is once in the log', async () => {
    const { part, link, batch, produce } = await producerOf('k17')
    const lost = produce(link, batch(0))
    lost.catch(() => {})
    // The scenario's own time: the broker may or may not have taken it, both must end alike.
    await delay(3)
    link.end(null, true)
    await lost.catch(error => assert.equal(error.code, 'kafka-link-lost'))
    const next = await connect()
    assert.deepEqual(await produce(next, batch(0)), { error: 0, baseOffset: 0n })
    assert.deepEqual(await produce(next, batch(0)), { error: 0, baseOffset: 0n })
    assert.equal(await endOf(east, part), 1n)
    await next.close()
  })

  it('KAFKA 18: the sixth last batch again is out of order', async () => {
    const { part, link, batch, produce } = await producerOf('k18')
    for (let i = 0; i < 6; i++) assert.equal((await produce(link, batch(i))).error, 0)
    assert.equal((await produce(link, batch(0))).error, 45)
    assert.deepEqual(await produce(link, batch(1)), { error: 0, baseOffset: 1n })
    assert.equal(await endOf(east, part), 6n)
    await link.close()
  })
})
