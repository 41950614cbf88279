import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { openCache } from '../../rig/cache.ts'
import { kafka } from '../../rig/kafka.ts'
import { want } from '../../rig/part.ts'
import { type RigSet, rig } from '../../rig/set.ts'
import { findTool } from '../../rig/tools.ts'
import { kafkaJars } from '../../rig/versions.ts'
import { consumeAll, kafkaClient } from './kafkajs.ts'
import { until } from './rigCommand.ts'
import { live } from './rigFor.ts'

const wishes = () => ({ c: want(kafka, { brokers: 2, proxied: true }) })

/** Requests that meet silence are given up after a second and asked again. */
const patient = { requestTimeout: 1_000, retry: { retries: 300, initialRetryTime: 50, maxRetryTime: 200 } }

describe('a cluster behind fault proxies', { ...live, timeout: 90_000 }, () => {
  let set: RigSet<ReturnType<typeof wishes>>
  before(async () => {
    set = await rig(wishes())
  })
  after(() => set.dispose())

  /** A topic with one partition on each broker: the partition of broker 1 first. */
  async function topicOnBoth(topic: string): Promise<[number, number]> {
    const plain = kafkaClient(set.parts.c.address.bootstrap)
    await plain.createTopic(topic, 2)
    const partitions = await plain.partitionsOf(topic)
    await plain.close()
    const on = (leader: number) => partitions.find(found => found.leader === leader)?.partitionId
    const [first, second] = [on(1), on(2)]
    if (first === undefined || second === undefined) throw new Error('the partitions are not spread')
    return [first, second]
  }

  function proxyOf(broker: 1 | 2) {
    const found = set.parts.c.proxies[broker - 1]
    if (found === undefined) throw new Error(`broker ${broker} has no proxy`)
    return found
  }

  const named = (who: string, count: number) => Array.from({ length: count }, (_, n) => `${who} ${n}`)

  test('RIG 7: while one broker is a black hole the other goes on, and after healing nothing is lost or turned round', async () => {
    const [held, free] = await topicOnBoth('holes')
    const client = kafkaClient(set.parts.c.address.proxied ?? '', patient)
    const other = kafkaClient(set.parts.c.address.proxied ?? '', patient)
    await client.send('holes', [{ partition: held, value: 'held 0' }])
    await other.send('holes', [{ partition: free, value: 'free 0' }])
    assert.ok(proxyOf(1).count.connections > 0 && proxyOf(2).count.connections > 0)

    await proxyOf(1).set({ blackHole: true }, { blackHole: true })
    let through = false
    const stuck = (async () => {
      for (const value of named('held', 6).slice(1)) await client.send('holes', [{ partition: held, value }])
      through = true
    })()
    for (const value of named('free', 20).slice(1)) await other.send('holes', [{ partition: free, value }])
    assert.equal(through, false)
    await proxyOf(1).heal()
    await stuck

    const values = await consumeAll(set.parts.c.address.bootstrap, 'holes', 26)
    assert.deepEqual(
      values.filter(value => value.startsWith('held')),
      named('held', 6),
    )
    assert.deepEqual(
      values.filter(value => value.startsWith('free')),
      named('free', 20),
    )
    await Promise.all([client.close(), other.close()])
  })

  test('RIG 7: an answer that is cut in its middle makes the client try again, and no record is there twice', async () => {
    const plain = kafkaClient(set.parts.c.address.bootstrap)
    await plain.createTopic('cuts')
    const [partition] = await plain.partitionsOf('cuts')
    const proxy = proxyOf(partition?.leader === 1 ? 1 : 2)
    const high = async () => Number((await plain.admin.fetchTopicOffsets('cuts'))[0]?.high)
    await using producer = await javaProducer(set.parts.c.address.proxied ?? '', 'cuts')
    producer.send('cut 0')
    await until(async () => (await high()) === 1, 30_000, 'the first record')
    for (const value of named('cut', 4).slice(1)) {
      // The broker has written the record; of its answer ten bytes arrive.
      await proxy.set({}, { cutAfterBytes: 10 })
      const again = new Promise<void>(resolve => {
        const off = proxy.on('connection', () => {
          off()
          resolve()
        })
      })
      producer.send(value)
      await again
      await proxy.heal()
    }
    assert.equal(await producer.ended(), 0)
    assert.deepEqual(await consumeAll(set.parts.c.address.bootstrap, 'cuts', 4), named('cut', 4))
    assert.equal(await high(), 4)
    await plain.close()
  })
})

/**
 * Kafka's own console producer: kafkajs keeps half a frame over a new connection and understands no answer after it.
 * Its order is a record at a time, so that each has a request of its own.
 */
async function javaProducer(bootstrap: string, topic: string) {
  const folder = openCache().path(kafkaJars.kind, kafkaJars.pom)
  const { path } = await findTool('java')
  const args = ['-Xmx128m', '-cp', join(folder, 'jars', '*'), 'org.apache.kafka.tools.ConsoleProducer']
  const to = ['--bootstrap-server', bootstrap, '--topic', topic, '--sync', '--message-send-max-retries', '100']
  const child = spawn(path, [...args, ...to], { stdio: ['pipe', 'ignore', 'ignore'] })
  const exit = once(child, 'exit')
  return {
    send: (value: string) => void child.stdin.write(`${value}\n`),
    async ended(): Promise<unknown> {
      child.stdin.end()
      return (await exit)[0]
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await exit
    },
  }
}
