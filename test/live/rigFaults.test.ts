import assert from 'node:assert/strict'
import { once } from 'node:events'
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { RigError } from '../../rig/errors.ts'
import { kafka } from '../../rig/kafka.ts'
import { want } from '../../rig/part.ts'
import { type Ports, randomPorts } from '../../rig/ports.ts'
import { rig } from '../../rig/set.ts'
import { consumeAll, kafkaClient } from './kafkajs.ts'
import { until } from './rigCommand.ts'
import { live } from './rigFor.ts'

/** KRaft takes seconds to fence a dead broker: a client that means to survive it must be patient. */
const patient = { retries: 300, initialRetryTime: 50, maxRetryTime: 200 }

test(
  'RIG 5: the leader of three is killed, no acknowledged record is lost, and it comes back to its place',
  live,
  async () => {
    await using set = await rig({ c: want(kafka, { brokers: 3, fastFailover: true }) })
    const { c } = set.parts
    const client = kafkaClient(c.address.bootstrap, { retry: patient })
    await client.createTopic('t', 1, 3)
    const partition = async () => {
      const [found] = await client.partitionsOf('t')
      if (found === undefined) throw new Error('topic t has no partition')
      return found
    }
    const values = Array.from({ length: 40 }, (_, n) => `record ${n}`)
    for (const value of values.slice(0, 20)) await client.send('t', [{ value }])
    const leader = c.brokers[(await partition()).leader - 1]
    if (leader === undefined) throw new Error('the leader is none of the brokers')
    const [pid] = leader.pids
    await leader.kill()
    assert.deepEqual(leader.pids, [])
    for (const value of values.slice(20)) await client.send('t', [{ value }])

    await leader.restart()
    assert.notEqual(leader.pids[0], pid)
    const back = kafkaClient(`${leader.address.host}:${leader.address.port}`, { retry: patient })
    assert.equal((await back.admin.describeCluster()).brokers.length, 3)
    await until(async () => (await partition()).isr.length === 3, 30_000, 'three replicas in sync')
    assert.deepEqual(await consumeAll(c.address.bootstrap, 't', values.length, { retry: patient }), values)
    await Promise.all([client.close(), back.close()])
  },
)

test('RIG 9: a broker that was paused for three seconds is the same one when it answers again', live, async () => {
  await using set = await rig({ c: want(kafka, {}) })
  const { c } = set.parts
  const { pids } = c
  await c.pause()
  // The kernel still accepts the connection; nobody answers on it.
  const silent = kafkaClient(c.address.bootstrap, { requestTimeout: 3_000, retry: { retries: 0 } })
  await assert.rejects(silent.admin.describeCluster())
  c.resume()
  const client = kafkaClient(c.address.bootstrap)
  assert.equal((await client.admin.describeCluster()).brokers.length, 1)
  assert.deepEqual(c.pids, pids)
  await Promise.all([silent.close(), client.close()])
})

/** Ports of which the first of every start is taken by somebody else before it is used, `times` times. */
function unluckyPorts(times: number): Ports & AsyncDisposable & { taken: number[] } {
  const real = randomPorts()
  const others: Server[] = []
  const taken: number[] = []
  let asked = 0
  return {
    taken,
    async take() {
      const port = await real.take()
      // A start of one broker takes two.
      if (asked++ % 2 === 0 && taken.length < times) {
        taken.push(port)
        const other = createServer().listen(port, '127.0.0.1')
        others.push(other)
        await once(other, 'listening')
      }
      return port
    },
    async [Symbol.asyncDispose]() {
      for (const other of others) other.close()
    },
  }
}

test('RIG 10: a port that somebody took in between is replaced, and three of them are an error', live, async () => {
  await using once = unluckyPorts(1)
  await using set = await rig({ c: want(kafka, {}) }, { ports: once })
  assert.equal(once.taken.length, 1)
  assert.ok(!once.taken.includes(set.parts.c.address.brokers[0]?.port ?? 0))

  await using thrice = unluckyPorts(3)
  const kept: string[] = []
  const start = rig({ c: want(kafka, {}) }, { ports: thrice, kept: dir => kept.push(dir) })
  await assert.rejects(start, error => error instanceof RigError && error.code === 'rig-port')
  assert.equal(thrice.taken.length, 3)
  assert.deepEqual(kept, [])
})

test('RIG 15: a broker that loses its log directory dies by name, and the other parts live on', live, async () => {
  const kept: string[] = []
  const set = await rig({ good: want(kafka, {}), bad: want(kafka, {}) }, { kept: dir => kept.push(dir) })
  const { good, bad } = set.parts
  const client = kafkaClient(bad.address.bootstrap)
  await client.admin.connect()
  // A file in its place rather than a read-only mode, which does not hold for root.
  const data = join(set.dir, 'kafka.bad', 'data-1')
  renameSync(data, `${data}-gone`)
  writeFileSync(data, '')
  await client.createTopic('t').catch(() => {})
  const died = await set.died
  assert.equal(died.code, 'rig-died')
  assert.equal(died.part, 'kafka.bad.1')
  assert.match(died.message, /kafka\.bad\.1 ended by itself/)
  assert.ok(died.lines.length > 0 && died.lines.length <= 40)
  await client.close()

  const other = kafkaClient(good.address.bootstrap)
  assert.equal((await other.admin.describeCluster()).brokers.length, 1)
  await other.close()
  await set.dispose()
  assert.deepEqual(good.pids, [])
  assert.deepEqual(kept, [set.dir])
  rmSync(set.dir, { recursive: true })
})
