import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { connector } from '../../engine/adapters/kafka/connect.ts'
import { fetchApi } from '../../engine/adapters/kafka/frames/fetch.ts'
import { plainSecurity } from '../../engine/adapters/kafka/login.ts'
import { MemoryAccount } from '../../engine/adapters/kafka/slab.ts'
import { fetchBytesMax, fetchPartitionBytesMax } from '../../engine/limits.ts'
import { javaTool } from './javaTool.ts'
import {
  addressesOf,
  batchesOf,
  clock,
  copyAll,
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

const partitions = 8
const batchesEach = 20
const batchRecords = 10

describe('what a broker limits', live, () => {
  let set: LiveRig<Record<never, never>>
  let east: Opened
  let west: Opened
  const account = new MemoryAccount({ poison: true })
  before(async () => {
    set = await rigFor({})
    east = openCluster('east', set.east.bootstrap, account)
    west = openCluster('west', set.west.bootstrap, account)
  })
  after(async () => {
    await Promise.all([east.close(), west.close()])
    await set.dispose()
  })

  /** 2 MB in each of 8 partitions: a broker counts over ten seconds, so 1 MB/s is passed after ten of the sixteen. */
  const filled = async (topic: string): Promise<void> => {
    await Promise.all([east.admin.createTopic(topic, partitions), west.admin.createTopic(topic, partitions)])
    const fill = (partition: number) => {
      const batch = (b: number) => numbered(b * batchRecords, batchRecords, { codec: 'none', bytes: 10_000 })
      return write(
        east,
        { topic, partition },
        Array.from({ length: batchesEach }, (_, b) => batch(b)),
      )
    }
    await Promise.all(Array.from({ length: partitions }, (_, p) => fill(p)))
  }

  it('KAFKA 22: a throttled fetch comes at once and empty; nothing is asked before its time, and all records arrive', async t => {
    const topic = `k22-${process.pid}`
    await filled(topic)
    const clients = [`k22-frames-${process.pid}`, `k22-copy-${process.pid}`] as const
    for (const name of clients) {
      const args = ['--bootstrap-server', set.east.bootstrap, '--alter', '--add-config', 'consumer_byte_rate=1000000']
      await javaTool('kafka.admin.ConfigCommand', [...args, '--entity-type', 'clients', '--entity-name', name])
    }

    const how = { cluster: 'east', security: plainSecurity, account, clock, caps: new Map(), clientId: clients[0] }
    const [address] = addressesOf(set.east.bootstrap)
    assert.ok(address)
    const link = await connector(how)(address, 'fetch')
    const topicId = await topicIdOf(east, topic)
    const sizes = { maxWaitMs: 500, minBytes: 1, maxBytes: fetchBytesMax, isolation: 1, rack: '' } as const
    const places = Array.from({ length: partitions }, (_, partition) => ({
      ...{ partition, leaderEpoch: -1, offset: 0n, lastFetchedEpoch: -1, maxBytes: fetchPartitionBytesMax },
    }))
    const ask = async () => {
      const question = { ...sizes, topics: [{ topic, topicId, partitions: places }] }
      const { answer, frame } = await link.ask(fetchApi, question, { timeoutMs: 30_000 })
      frame.release()
      return answer
    }
    const first = await ask()
    assert.equal(first.topics[0]?.partitions.length, partitions)
    const second = await ask()
    assert.deepEqual(second.topics, [])
    assert.ok(second.throttleMs > 5_000, `${second.throttleMs}`)
    assert.ok(link.throttledUntilMs > clock.nowMs() + 4_000)
    await link.close()

    const slow = openCluster('east', set.east.bootstrap, account, { clientId: clients[1] })
    t.after(() => slow.close())
    const topicCopies = Array.from({ length: partitions }, (_, partition) =>
      startCopy(slow, west, { part: { topic, partition, topicId }, to: { topic, partition } }),
    )
    await Promise.all(topicCopies.map(copy => copy.until(BigInt(batchesEach * batchRecords))))
    t.diagnostic(`${slow.counts().fetchRequests} fetches`)
    assert.ok(slow.counts().fetchRequests <= 20, `${slow.counts().fetchRequests} fetches`)
    const waitedMs = [...slow.counts().throttleMs.values()].reduce((sum, ms) => sum + ms, 0)
    assert.ok(waitedMs > 0, `${waitedMs} ms of quota waits counted`)
    for (const copy of topicCopies) assert.equal(copy.stream.trouble(), null)
    assert.deepEqual((await Promise.all(topicCopies.map(copy => copy.end()))).filter(Boolean), [])
    assert.deepEqual(
      topicCopies.flatMap(copy => copy.odd),
      [],
    )
    for (let partition = 0; partition < partitions; partition++)
      assert.deepEqual(await numbersOf(west, { topic, partition }), upTo(batchesEach * batchRecords))
    assert.equal(account.heldBytes, 0)
  })

  it('KAFKA 25: a destination that refuses one partition for ever does not stop the other seven', async () => {
    const [topic, small] = [`k25-${process.pid}`, `k25-small-${process.pid}`]
    await filled(topic)
    await west.admin.createTopic(small, 1, { configs: { 'max.message.bytes': '1000' } })
    const refused: unknown[] = []
    let again = true
    const [bytes = Buffer.alloc(0)] = await batchesOf(east, { topic, partition: 7 })
    const batch = () => loose(Buffer.from(bytes))
    const lane = west.sink.open<number>(
      { topic: small, partition: 0, topicId: '' },
      () => true,
      outcome => {
        refused.push(outcome.is === 'refused' ? outcome.code : outcome.is)
        // Not in the outcome's own turn (W-72).
        setImmediate(() => {
          if (again) lane.instead([[batch(), refused.length]])
        })
      },
    )
    lane.send(batch(), 0)
    const odd = await copyAll(east, west, topic, 7)
    while (refused.length < 5) await new Promise(resolve => setImmediate(resolve))
    again = false
    assert.deepEqual(odd, [])
    assert.deepEqual(new Set(refused), new Set([10]))
    lane.close(false)
    for (let partition = 0; partition < 7; partition++)
      assert.deepEqual(await numbersOf(west, { topic, partition }), upTo(batchesEach * batchRecords))
    assert.equal(account.heldBytes, 0)
    assert.equal(west.counts().producerResets, 0)
  })
})
