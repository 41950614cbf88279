import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { machineClock } from '../../engine/adapters/local/clock.ts'
import { codecOf, codecs } from '../../engine/batch/header.ts'
import type { KafkaCluster, Part } from '../../engine/ports/kafka.ts'
import { deleteRecords } from '../../rig/deleteRecords.ts'
import { openPlain } from '../../rig/openPlain.ts'
import { readLog } from '../../rig/readLog.ts'
import { makeCompacted, sampleBatch, send, writePlain } from '../../rig/samples.ts'
import { consumeByJava } from './javaTool.ts'
import { type Ended, measured, millrace } from './millrace.ts'
import { type LiveRig, live, rigFor } from './rigFor.ts'

const timeMs = Date.now() - 3_600_000

describe('a mirror and its verification', live, () => {
  let set: LiveRig<Record<never, never>>
  let east: KafkaCluster
  let west: KafkaCluster
  const alive = setInterval(() => {}, 1 << 30)
  const signal = AbortSignal.timeout(120_000)

  before(async () => {
    set = await rigFor({})
    east = openPlain('east', set.east.bootstrap)
    west = openPlain('west', set.west.bootstrap)
  })
  after(async () => {
    clearInterval(alive)
    await Promise.all([east?.close(), west?.close()])
    await set?.dispose()
  })

  const both = async (topic: string, partitions: number) => {
    await Promise.all([east.admin.createTopic(topic, partitions), west.admin.createTopic(topic, partitions)])
    return Array.from({ length: partitions }, (_, partition) => ({ topic, partition }))
  }
  /** Each test has a flow of its own: other suites mirror between the same clusters. */
  const run = (verb: string[], topics: string, ...more: string[]): Promise<Ended> => {
    const clusters = ['--from', set.east.bootstrap, '--to', set.west.bootstrap]
    return millrace([...verb, ...clusters, '--topics', topics, ...more], signal).ended
  }
  const mirror = async (topics: string, name: string) => {
    const ended = await run(['mirror'], topics, '--until-end', '--name', name)
    assert.equal(ended.code, 0, ended.stderr)
    return ended
  }
  const verify = async (topics: string, name: string, ...more: string[]) => {
    const ended = await run(['mirror', 'verify'], topics, '--deep', '--name', name, ...more)
    const partitions = ended.stdout.split('\n').filter(line => line !== '')
    return { ...ended, partitions: partitions.map(line => JSON.parse(line)) }
  }

  test('a cluster is not compared with itself, and a name that is none is refused', async () => {
    await both('verify.self', 1)
    const { bootstrap } = set.east
    const clusters = ['--from', bootstrap, '--to', bootstrap, '--topics', 'verify\\.self', '--deep']
    const self = await millrace(['mirror', 'verify', ...clusters], signal).ended
    assert.equal(self.code, 2)
    assert.match(self.stderr, /^config-invalid: source and destination are the same cluster /)
    assert.equal(self.stdout, '')
    const name = await run(['mirror', 'verify'], 'verify\\.self', '--deep', '--name', 'Bad Name')
    assert.equal(name.code, 2)
    const none = await run(['mirror', 'verify'], 'verify', '--deep')
    assert.equal(none.code, 4)
    assert.match(none.stderr, /near it: verify\.self/)
  })

  test('a signal ends a comparison that waits for a cluster which does not answer', async t => {
    const reached = Promise.withResolvers<void>()
    const silent = createServer(() => reached.resolve())
    silent.listen(0, '127.0.0.1')
    await once(silent, 'listening')
    t.after(() => silent.close())
    const { port } = silent.address() as AddressInfo
    const clusters = ['--from', set.east.bootstrap, '--to', `127.0.0.1:${port}`, '--topics', 'x', '--deep']
    const running = millrace(['mirror', 'verify', ...clusters], signal)
    await reached.promise
    running.child.kill('SIGINT')
    const { code, stderr } = await running.ended
    assert.equal(code, 12, stderr)
    assert.match(stderr, /^stopped before both clusters had answered/)
  })

  test('MIRROR 2: in all five codecs the stored bytes are the same, and verify finds 50,000 records equal', async () => {
    const parts: Part[] = []
    for (const name of codecs) {
      for (const part of await both(`m2.${name}`, 4)) {
        parts.push(part)
        await writePlain(east, part, { seed: 2, timeMs, batches: 30, recordsPerBatch: 100, codec: name }, signal)
        await deleteRecords(set.east.bootstrap, part, 500n)
      }
    }
    const clusters = ['--from', set.east.bootstrap, '--to', set.west.bootstrap]
    const running = millrace(['mirror', ...clusters, '--topics', 'm2\\..*', '--name', 'm2'], signal)
    await running.line(line => line.type === 'progress' && line['records'] === 50_000)
    const batches = await measured(running, 'millrace_mirror_batches_total')
    running.child.kill('SIGTERM')
    const ended = await running.ended
    assert.equal(ended.code, 0, ended.stderr)

    let records = 0
    let stored = 0
    for (const part of parts) {
      const [source, copy] = [await readLog(east, part, signal), await readLog(west, part, signal)]
      assert.equal(copy.length, source.length)
      stored += copy.length
      for (const [i, { header, bytes }] of copy.entries()) {
        const from = source[i]
        assert.ok(from && from.header.baseOffset >= 500n)
        assert.equal(`${codecOf(header.attributes)}`, part.topic.slice('m2.'.length))
        assert.deepEqual(bytes.subarray(23, 43), from.bytes.subarray(23, 43))
        assert.deepEqual(bytes.subarray(57), from.bytes.subarray(57))
        records += header.recordsCount
      }
    }
    assert.equal(records, 50_000)
    assert.equal(stored, 500)
    const passed = { raw: 0, others: 0 }
    for (const [labels, count] of batches) passed[labels.includes('path="raw"') ? 'raw' : 'others'] += count
    assert.deepEqual(passed, { raw: stored, others: 0 })

    const { code, partitions } = await verify('m2\\..*', 'm2')
    assert.equal(code, 0)
    assert.equal(partitions.length, 20)
    assert.ok(
      partitions.every(
        ({ verdict, sourceFrom, sourceTo }) => verdict === 'equal' && sourceFrom === 500 && sourceTo === 3_000,
      ),
    )
    assert.equal(
      partitions.reduce((sum, { equal }) => sum + equal, 0),
      50_000,
    )

    // Neither our client nor our digests: what Kafka's own consumer prints of both sides, but for the offsets.
    const seen = await Promise.all(
      [set.east.bootstrap, set.west.bootstrap].map(bootstrap => consumeByJava(bootstrap, 'm2\\..*', 50_000)),
    )
    const [source, copy] = seen.map(lines => lines.map(line => line.replace(/\tOffset:\d+\t/, '\t')).toSorted())
    assert.ok((source?.length ?? 0) >= 50_000)
    assert.deepEqual(copy, source)
  })

  test('MIRROR 5: verify compares the last values of a compacted topic, and exits 0', async () => {
    const topic = 'm5-verified'
    await west.admin.createTopic(topic, 1, { configs: { 'cleanup.policy': 'compact' } })
    const how = { seed: 5, timeMs, keys: 1_000, rounds: 5, recordsPerBatch: 100 }
    await makeCompacted(east, topic, how, machineClock(), signal)
    await mirror(topic, 'm5-verified')
    const { code, partitions } = await verify(topic, 'm5-verified')
    assert.equal(code, 0)
    const [{ records, equal, missing, extra, verdict }] = partitions
    assert.deepEqual(
      { records, equal, missing, extra, verdict },
      { records: 1_000, equal: 1_000, missing: 0, extra: 0, verdict: 'equal' },
    )
  })

  test('MIRROR 28: one record by hand and one not copied are counted, both offsets named, and verify exits 1', async () => {
    const topic = 'm28'
    const [part] = await both(topic, 1)
    assert.ok(part)
    const how = { seed: 28, timeMs, batches: 3, recordsPerBatch: 100, codec: 'zstd' } as const
    await writePlain(east, part, how, signal)
    await mirror(topic, topic)
    assert.equal((await verify(topic, topic)).code, 0)

    const byHand = { timestamp: BigInt(timeMs), key: null, value: Buffer.from('by hand'), headers: [] }
    await send(west, part, [sampleBatch([byHand], 'none')], signal)
    await send(east, part, [sampleBatch([{ ...byHand, value: Buffer.from('never copied') }], 'none')], signal)
    // As an operator's skip leaves it: the checkpoint is past a record that is not at the destination.
    await east.checkpoints.save(
      `millrace.${topic}`,
      [{ ...part, offset: 301n, epoch: -1, metadata: '' }],
      () => true,
      signal,
    )
    const { code, partitions, stderr } = await verify(topic, topic)
    assert.equal(code, 1, stderr)
    assert.deepEqual(partitions, [
      {
        topic,
        partition: 0,
        sourceFrom: 0,
        sourceTo: 301,
        records: 301,
        destinationRecords: 301,
        equal: 300,
        repeated: 0,
        missing: 1,
        extra: 1,
        expired: 0,
        outOfOrder: 0,
        firstDifference: { source: 300, destination: 300 },
        verdict: 'different',
      },
    ])
    const table = await run(['mirror', 'verify'], topic, '--deep', '--name', topic, '-o', 'table')
    assert.match(table.stdout, /^m28 .* source 300, destination 300 +different$/m)
  })

  test('MIRROR 28: what a crash has left twice is repeated: exit 0, and 1 with --strict', async () => {
    const topic = 'm28-again'
    const [part] = await both(topic, 1)
    assert.ok(part)
    await writePlain(east, part, { seed: 28, timeMs, batches: 3, recordsPerBatch: 100, codec: 'lz4' }, signal)
    await mirror(topic, topic)
    // As after a kill between the acknowledgement and the next checkpoint.
    await east.checkpoints.save(
      `millrace.${topic}`,
      [{ ...part, offset: 200n, epoch: -1, metadata: '' }],
      () => true,
      signal,
    )
    await mirror(topic, topic)
    const { code, partitions } = await verify(topic, topic)
    assert.equal(code, 0)
    const [{ equal, repeated, verdict }] = partitions
    assert.deepEqual({ equal, repeated, verdict }, { equal: 300, repeated: 100, verdict: 'repeated' })
    assert.equal((await verify(topic, topic, '--strict')).code, 1)
  })

  test('verify without --deep, or with nothing selected, says what is wanting', async () => {
    const shallow = await run(['mirror', 'verify'], 'm28')
    assert.equal(shallow.code, 2)
    assert.match(shallow.stderr, /missing: --deep/)
    const nothing = await run(['mirror', 'verify'], 'nothing-of-that-name', '--deep')
    assert.equal(nothing.code, 4)
  })
})
