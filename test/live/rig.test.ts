import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { createConnection } from 'node:net'
import { test } from 'node:test'
import { kafka } from '../../rig/kafka.ts'
import { openPlain } from '../../rig/openPlain.ts'
import { want } from '../../rig/part.ts'
import { writePlain } from '../../rig/samples.ts'
import { rig } from '../../rig/set.ts'
import { fourLetters } from '../../rig/zookeeper/fourLetters.ts'
import { zookeeper } from '../../rig/zookeeper.ts'
import { consumeAll, kafkaClient } from './kafkajs.ts'
import { live } from './rigFor.ts'

test('RIG 1: a set answers at every address, and leaves no process, port or folder behind', live, async () => {
  const set = await rig({ east: want(kafka, {}), west: want(kafka, {}), zk: want(zookeeper, {}) })
  const { east, west, zk } = set.parts
  const client = kafkaClient(east.address.bootstrap)
  await client.createTopic('hello')
  await client.send('hello', [{ key: 'k', value: 'a record' }])
  assert.deepEqual(await consumeAll(east.address.bootstrap, 'hello', 1), ['a record'])
  await client.close()
  const direct = openPlain('east', east.address.bootstrap)
  const how = { seed: 1, timeMs: Date.now(), batches: 1, recordsPerBatch: 1, codec: 'lz4' } as const
  await writePlain(direct, { topic: 'hello', partition: 0 }, how, AbortSignal.timeout(30_000))
  await direct.close()
  // A killed JVM removes nothing: what it unpacked must lie where the set ends.
  assert.ok(readdirSync(set.dir, { recursive: true }).some(name => /liblz4/.test(String(name))))
  const other = kafkaClient(west.address.bootstrap)
  assert.equal((await other.admin.describeCluster()).brokers.length, 1)
  await other.close()
  const keeper = zk.members.map(({ address }) => address.port)
  assert.match(await fourLetters(keeper[0] ?? 0, 'srvr'), /^Mode: standalone/m)
  const pids = [...east.pids, ...west.pids, ...zk.pids]
  assert.equal(pids.length, 3)

  await set.dispose()
  for (const pid of pids) assert.throws(() => process.kill(-pid, 0), { code: 'ESRCH' })
  const brokers = [east, west].flatMap(({ address }) => address.brokers.map(({ port }) => port))
  for (const port of [...brokers, ...keeper]) assert.equal(await connects(port), false)
  assert.equal(existsSync(set.dir), false)
})

function connects(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = createConnection({ host: '127.0.0.1', port, family: 4 })
    socket.once('error', () => resolve(false))
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })
}
