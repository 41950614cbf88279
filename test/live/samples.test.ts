import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { codec } from '../../engine/adapters/kafka/native.ts'
import { machineClock } from '../../engine/adapters/local/clock.ts'
import { dropAborted } from '../../engine/batch/aborted.ts'
import { codecOf, control, logAppendTime, transactional } from '../../engine/batch/header.ts'
import { records } from '../../engine/batch/records.ts'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { openPlain } from '../../rig/openPlain.ts'
import { readLog, type StoredBatch } from '../../rig/readLog.ts'
import { writeSamples } from '../../rig/samples.ts'
import { type LiveRig, live, rigFor } from './rigFor.ts'

const prefix = 'samples'
const signal = AbortSignal.timeout(60_000)

describe('sample records', live, () => {
  let set: LiveRig<Record<string, never>>
  let cluster: KafkaCluster
  before(async () => {
    set = await rigFor({})
    cluster = openPlain('east', set.east.bootstrap)
    const at = { cluster, bootstrap: set.east.bootstrap, clock: machineClock() }
    const how = { prefix, partitions: 2, recordsPerPartition: 300, seed: 7, timeMs: Date.now() - 60_000 }
    const written = await writeSamples(at, how, signal)
    assert.deepEqual(
      written.map(({ topic }) => topic.slice(prefix.length + 1)),
      ['none', 'gzip', 'snappy', 'lz4', 'zstd', 'append-time', 'transactions', 'compacted'],
    )
  })
  after(async () => {
    await cluster?.close()
    await set?.dispose()
  })

  const logOf = (topic: string, partition = 0) => readLog(cluster, { topic: `${prefix}-${topic}`, partition }, signal)
  const recordsOf = (log: StoredBatch[]) => log.flatMap(batch => records(batch, codec))

  it('lie in batches of exactly the wanted size, in each codec', async () => {
    for (const name of ['none', 'gzip', 'snappy', 'lz4', 'zstd']) {
      for (const partition of [0, 1]) {
        const log = await logOf(name, partition)
        assert.deepEqual(
          log.map(({ header }) => header.recordsCount),
          [100, 100, 100],
        )
        for (const { header } of log) assert.equal(codecOf(header.attributes), name)
      }
    }
  })

  it('have null and empty keys and values, and headers a, b, a with a null and an empty value', async () => {
    const all = recordsOf(await logOf('none'))
    for (const field of ['key', 'value'] as const) {
      assert.ok(all.some(record => record[field] === null))
      assert.ok(all.some(record => record[field]?.length === 0))
      assert.ok(all.some(record => (record[field]?.length ?? 0) > 0))
    }
    const headers = all.map(record => record.headers.map(h => [h.name.toString(), h.value?.toString() ?? null]))
    const wanted = JSON.stringify([
      ['a', 'one'],
      ['b', null],
      ['a', ''],
    ])
    assert.ok(headers.some(one => JSON.stringify(one) === wanted))
  })

  it('have the append time where the topic asks for it, and their own elsewhere', async () => {
    const appended = await logOf('append-time')
    const own = await logOf('lz4')
    assert.ok(appended.every(({ header }) => (header.attributes & logAppendTime) !== 0))
    assert.ok(own.every(({ header }) => (header.attributes & logAppendTime) === 0))
  })

  it('are in committed and aborted transactions of two producers that overlap', async () => {
    const log = await logOf('transactions')
    const ends = log.filter(({ header }) => header.attributes & control)
    const commits = ends.filter(({ header, bytes }) => records({ header, bytes }, codec)[0]?.key?.readInt16BE(2) === 1)
    assert.deepEqual([ends.length, commits.length], [15, 10])
    const data = log.filter(({ header }) => !(header.attributes & control))
    assert.ok(data.every(({ header }) => header.attributes & transactional && header.recordsCount === 50))
    assert.equal(recordsOf(data).length, 1_500)
    const producers = data.map(({ header }) => header.producerId)
    assert.equal(new Set(producers).size, 2)
    const turns = producers.filter((producer, i) => i > 0 && producer !== producers[i - 1]).length
    assert.ok(turns >= 14, `${turns} turns`)
  })

  it('of aborted transactions are left out by a reader of committed ones', async () => {
    const source = cluster.source({ isolation: 'read_committed', rack: null })
    const part = { topic: `${prefix}-transactions`, partition: 0 }
    const stream = source.open({ ...part, topicId: '' }, { offset: 0n, epoch: -1 })
    const answer = await stream.next(signal)
    assert.equal(answer.is, 'batches')
    if (answer.is !== 'batches') return
    const verdicts = dropAborted(answer.batches, answer.aborted)
    const kept = answer.batches.filter((_, i) => verdicts[i] === 'keep')
    assert.equal(
      kept.reduce((sum, { header }) => sum + header.recordsCount, 0),
      1_000,
    )
    assert.equal(answer.aborted.length, 5)
    for (const batch of answer.batches) batch.release()
    stream.close()
  })

  it('are compacted with holes inside of batches, and every key has its last value', async () => {
    const log = await logOf('compacted')
    const thin = log.filter(({ header }) => header.recordsCount !== header.lastOffsetDelta + 1)
    assert.ok(thin.length > 0)
    const last = new Map(recordsOf(log).map(({ key, value }) => [`${key}`, `${value}`]))
    assert.equal(last.size, 1_000)
    assert.ok([...last.values()].every(value => value.includes('for time number 5 ')))
  })
})
