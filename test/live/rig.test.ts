import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { createConnection } from 'node:net'
import { test } from 'node:test'
import { kafka } from '../../rig/kafka.ts'
import { want } from '../../rig/part.ts'
import { rig } from '../../rig/set.ts'
import { consumeAll, kafkaClient } from './kafkajs.ts'
import { live } from './rigFor.ts'

test('RIG 1: a set answers at every address, and leaves no process, port or folder behind', live, async () => {
  const set = await rig({ east: want(kafka, {}), west: want(kafka, {}) })
  const { east, west } = set.parts
  const client = kafkaClient(east.address.bootstrap)
  await client.createTopic('hello')
  await client.send('hello', [{ key: 'k', value: 'a record' }])
  assert.deepEqual(await consumeAll(east.address.bootstrap, 'hello', 1), ['a record'])
  await client.close()
  const other = kafkaClient(west.address.bootstrap)
  assert.equal((await other.admin.describeCluster()).brokers.length, 1)
  await other.close()
  const pids = [...east.pids, ...west.pids]
  assert.equal(pids.length, 2)

  await set.dispose()
  for (const pid of pids) assert.throws(() => process.kill(-pid, 0), { code: 'ESRCH' })
  for (const { address } of [east, west])
    for (const { port } of address.brokers) assert.equal(await connects(port), false)
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
