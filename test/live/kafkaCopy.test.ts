import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { codec, crc32c } from '../../engine/adapters/kafka/native.ts'
import { MemoryAccount } from '../../engine/adapters/kafka/slab.ts'
import { encode } from '../../engine/batch/encode.ts'
import { type CodecName, codecs } from '../../engine/batch/header.ts'
import { consumeByJava } from './javaTool.ts'
import { batchesOf, copyAll, type Opened, openCluster, write } from './kafkaCopy.ts'
import { type LiveRig, live, rigFor } from './rigFor.ts'

const recordsEach = 100_000
const batchRecords = 100
const run = `k12-${process.pid}`

/** Everything a record may have: null, empty and doubled things among it. */
function record(name: CodecName, i: number) {
  const headers = [
    { name: Buffer.from('a'), value: Buffer.from(String(i)) },
    { name: Buffer.from('b'), value: null },
    { name: Buffer.from('a'), value: Buffer.from('') },
  ]
  return {
    timestamp: 1_700_000_000_000n + BigInt((i * 7919) % 100_000),
    key: i % 10 === 0 ? null : Buffer.from(`${name} key ${i % 97}`),
    value: Buffer.from(`${name} ${i} ${'mill race '.repeat(i % 12)}`),
    headers: i % 3 === 0 ? headers : [],
  }
}

/** Order-sensitive, per topic: the value's first word names it. Offsets are left out. */
function digest(lines: string[]): Map<string, { count: number; hash: string }> {
  const by = new Map<string, { count: number; hash: ReturnType<typeof createHash> }>()
  for (const line of lines) {
    const fields = line.split('\t')
    const name = fields.at(-1)?.split(' ')[0] ?? ''
    const one = by.get(name) ?? { count: 0, hash: createHash('sha256') }
    one.count++
    one.hash.update(`${fields.filter(field => !field.startsWith('Offset:')).join('\t')}\n`)
    by.set(name, one)
  }
  return new Map([...by].map(([name, one]) => [name, { count: one.count, hash: one.hash.digest('hex') }]))
}

describe('a copy between two brokers', live, () => {
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

  it('KAFKA 12: topics of every codec arrive as they are: to the byte, and to an independent consumer', async () => {
    for (const name of codecs) {
      const topic = `${run}-${name}`
      await Promise.all([east.admin.createTopic(topic, 1), west.admin.createTopic(topic, 1)])
      const batches = Array.from({ length: recordsEach / batchRecords }, (_, b) => {
        const made = Array.from({ length: batchRecords }, (__, i) => record(name, b * batchRecords + i))
        return encode(made, { codec: name, transactional: false }, codec, crc32c)
      })
      await write(east, { topic, partition: 0 }, batches)
      assert.deepEqual(await copyAll(east, west, topic, 1), [])
      const [source, copy] = await Promise.all([east, west].map(c => batchesOf(c, { topic, partition: 0 })))
      assert.equal(source?.length, batches.length)
      assert.deepEqual(
        copy?.map(bytes => bytes.subarray(57)),
        source?.map(bytes => bytes.subarray(57)),
      )
    }
    assert.equal(account.heldBytes, 0)
    for (const name of codecs) {
      const [there, here] = await Promise.all(
        [set.east, set.west].map(({ bootstrap }) => consumeByJava(bootstrap, `${run}-${name}`, recordsEach)),
      )
      const read = digest(here ?? [])
      assert.deepEqual(read, digest(there ?? []))
      assert.deepEqual(
        [...read].map(([topic, { count }]) => [topic, count]),
        [[name, recordsEach]],
      )
    }
  })
})
