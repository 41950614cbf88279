import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { codec } from '../../engine/adapters/kafka/native.ts'
import { type CodecName, codecOf, codecs } from '../../engine/batch/header.ts'
import { records } from '../../engine/batch/records.ts'
import type { Batch, KafkaCluster, Part } from '../../engine/ports/kafka.ts'
import { readLog } from '../../rig/readLog.ts'
import { sampleBatch, send, writePlain } from '../../rig/samples.ts'
import { seeded } from '../../rig/seeded.ts'
import { transactionalProducer } from '../../rig/transactions.ts'
import { type SampleRecord, variedRecord } from '../../rig/variedRecord.ts'
import { type JsonLine, measured, millrace, type RunningMillrace } from './millrace.ts'
import { checkpointsOf, untilEnd, write } from './mirrorPlaces.ts'
import { live } from './rigFor.ts'
import { eventually, runFlow, stopped } from './runFile.ts'
import { type TwoClusters, withTwoClusters } from './twoClusters.ts'

const longestMs = 120_000
const dayMs = 24 * 60 * 60 * 1_000

describe('odd batches on real brokers', live, () => {
  let set: TwoClusters['set']
  let east: KafkaCluster
  let west: KafkaCluster
  withTwoClusters(longestMs, two => {
    ;({ set, east, west } = two)
  })

  const ends = (signal: AbortSignal) => AbortSignal.any([signal, AbortSignal.timeout(longestMs)])
  /** What is made by hand at the destination stays as it is. */
  const made = async (topic: string, partitions: number, configs: { east?: Configs; west?: Configs } = {}) => {
    await Promise.all([
      east.admin.createTopic(topic, partitions, { configs: configs.east ?? {} }),
      west.admin.createTopic(topic, partitions, { configs: configs.west ?? {} }),
    ])
  }
  const run = (flow: string, topics: string[], more: Record<string, unknown>, signal: AbortSignal) =>
    runFlow(flow, wordsOf(topics, more), { east: set.east, west: set.west, signal })
  /** Records that `verify --deep` finds equal on both sides; anything else is an error. */
  const equalIn = async (topic: string, flow: string, signal: AbortSignal): Promise<number> => {
    const clusters = ['--from', set.east.bootstrap, '--to', set.west.bootstrap]
    const words = ['mirror', 'verify', ...clusters, '--topics', topic.replaceAll('.', '\\.'), '--deep', '--name', flow]
    const { code, stdout, stderr } = await millrace(words, signal).ended
    assert.equal(code, 0, stdout + stderr)
    const partitions: JsonLine[] = stdout.split('\n').flatMap(line => (line === '' ? [] : [JSON.parse(line)]))
    for (const { verdict } of partitions) assert.equal(verdict, 'equal')
    return partitions.reduce((sum, { equal }) => sum + Number(equal), 0)
  }

  for (const commits of [true, false]) {
    const name = commits ? 'committed' : 'aborted'
    test(`MIRROR 4: an open transaction holds back what is behind it, and is then ${name}`, async t => {
      const signal = ends(t.signal)
      const topic = `m4-${name}`
      const part = { topic, partition: 0 }
      await made(topic, 1)
      await write(east, part, [0, 100], signal)
      const producer = await transactionalProducer(set.east.bootstrap, part, topic)
      try {
        const open = await producer.begin()
        await open.send(varied(topic, 50))
        await write(east, part, [100, 200], signal)
        const running = await run(topic, [topic], {}, signal)
        await untilEnd(west, part, 100, signal)
        await until(running, 'blocked_records', part, 150, signal)
        await until(running, 'lag_records', part, 0, signal)
        await untilEnd(west, part, 100, signal)
        await (commits ? open.commit() : open.abort())
        await untilEnd(west, part, commits ? 250 : 200, signal)
        await until(running, 'blocked_records', part, 0, signal)
        await until(running, 'checkpoint', part, 251, signal)
        const skipped = await measured(running, 'millrace_mirror_skipped_records_total')
        assert.deepEqual([...skipped].map(([, count]) => count).toSorted(byNumber), [0, commits ? 0 : 50])
        assert.equal(await stopped(running), 0)
      } finally {
        await producer.close()
      }
    })
  }

  /** p0 has a record of 2 MiB at offset 50 of 100, one record a batch; three other partitions have 100 each. */
  const withLarge = async (topic: string, signal: AbortSignal): Promise<Part> => {
    await made(topic, 4, { east: { 'max.message.bytes': '4194304' }, west: { 'max.message.bytes': '1048576' } })
    const p0 = { topic, partition: 0 }
    const batches = varied(topic, 100).map((record, n) =>
      sampleBatch([n === 50 ? { ...record, value: Buffer.alloc(2 * 1024 * 1024, 'v') } : record], 'none'),
    )
    await send(east, p0, batches, signal)
    for (const partition of [1, 2, 3]) await write(east, { topic, partition }, [0, 100], signal)
    return p0
  }
  const failed = (running: RunningMillrace) =>
    running.line(line => line.type === 'event' && line['code'] === 'record-too-large')

  test('MIRROR 7: a record that is too large stops its partition alone, and is skipped where somebody says just that', async t => {
    const signal = ends(t.signal)
    const topic = 'm7-skip'
    const p0 = await withLarge(topic, signal)
    const running = await run(topic, [topic], {}, signal)
    const { partition, offset, state, message } = await failed(running)
    assert.deepEqual([partition, offset, state], [0, 50, 'error'])
    assert.match(String(message), /source offset 50: .* bytes, more than the 1048576 /)
    for (const partition of [1, 2, 3]) await untilEnd(west, { topic, partition }, 100, signal)
    await untilEnd(west, p0, 50, signal)
    await eventually(
      async () => ((await checkpointsOf(east, topic, signal)).get(`${topic}/0`) === 50 ? 1 : null),
      signal,
    )

    await running.edit(wordsOf([topic], { skips: { [topic]: { 0: [51, 1] } } }))
    const conflict = await running.line(line => line.type === 'event' && line['code'] === 'conflict')
    assert.match(String(conflict['message']), /a skip from offset 51 is not obeyed: it fails at 50/)
    await untilEnd(west, p0, 50, signal)
    await running.edit(wordsOf([topic], { skips: { [topic]: { 0: [50, 1] } } }))
    await untilEnd(west, p0, 99, signal)
    await eventually(
      async () => ((await checkpointsOf(east, topic, signal)).get(`${topic}/0`) === 100 ? 1 : null),
      signal,
    )
    const skipped = await measured(running, 'millrace_mirror_skipped_records_total')
    assert.deepEqual(
      [...skipped]
        .filter(([, count]) => count > 0)
        .map(([labels, count]) => [/reason="(\w+)"/.exec(labels)?.[1], count]),
      [['operator', 1]],
    )
    // The words stay in the file: what they say is over, and harms nothing.
    await write(east, p0, [0, 10], signal)
    await untilEnd(west, p0, 109, signal)
    assert.equal(await stopped(running), 0)
    const { lines } = await running.ended
    assert.deepEqual(
      lines.filter(line => line.type === 'event').map(line => line['code']),
      ['record-too-large', 'conflict', 'skipped'],
    )
  })

  test('MIRROR 7: with the limit raised a signal is enough, and all is copied, nothing twice', async t => {
    const signal = ends(t.signal)
    const topic = 'm7-raise'
    const p0 = await withLarge(topic, signal)
    const running = await run(topic, [topic], {}, signal)
    await failed(running)
    await untilEnd(west, p0, 50, signal)
    await west.admin.alterTopicConfigs([{ topic, set: { 'max.message.bytes': '4194304' }, unset: [] }])
    await running.edit(wordsOf([topic], {}))
    await untilEnd(west, p0, 100, signal)
    assert.equal(await stopped(running), 0)
    assert.equal(await equalIn(topic, topic, signal), 400)
  })

  test('MIRROR 6: in all five codecs a batch above the limit of the destination goes in pieces below it', async t => {
    const signal = ends(t.signal)
    const topics = codecs.map(name => `m6-${name}`)
    for (const [i, topic] of topics.entries()) {
      await made(topic, 1, { west: { 'max.message.bytes': '1000' } })
      const name = codecs[i] as CodecName
      await send(east, { topic, partition: 0 }, [noise(topic, 0, 10, name), noise(topic, 10, 2, name)], signal)
    }
    const running = await run('m6', topics, {}, signal)
    for (const topic of topics) {
      const part = { topic, partition: 0 }
      await untilEnd(west, part, 12, signal)
      const log = await readLog(west, part, signal)
      for (const { header } of log) {
        assert.ok(header.bytes <= 1_000, `${header.bytes}`)
        assert.equal(codecOf(header.attributes), topic.slice('m6-'.length))
      }
      const counts = log.map(({ header }) => header.recordsCount)
      if (topic === 'm6-none') assert.deepEqual(counts, [3, 3, 3, 1, 2])
      assert.ok(counts.length > 2)
    }
    assert.equal(await stopped(running), 0)
    for (const topic of topics) assert.equal(await equalIn(topic, 'm6', signal), 12)
    const { lines } = await running.ended
    assert.deepEqual(
      lines.filter(line => line.type === 'event'),
      [],
    )
  })

  test('a record from tomorrow stops its partition alone, at its own offset, and the setting is named', async t => {
    const signal = ends(t.signal)
    const topic = 'odd-tomorrow'
    await made(topic, 2, { east: { 'message.timestamp.after.max.ms': String(10 * dayMs) } })
    const batches = varied(topic, 20).map((record, n) =>
      sampleBatch([n === 12 ? { ...record, timestamp: BigInt(Date.now() + dayMs) } : record], 'none'),
    )
    await send(east, { topic, partition: 0 }, batches, signal)
    await write(east, { topic, partition: 1 }, [0, 100], signal)
    const running = await run(topic, [topic], {}, signal)
    const { partition, offset, hint } = await running.line(line => line['code'] === 'batch-refused')
    assert.deepEqual([partition, offset], [0, 12])
    assert.match(String(hint), /message\.timestamp\.after\.max\.ms/)
    await untilEnd(west, { topic, partition: 1 }, 100, signal)
    await untilEnd(west, { topic, partition: 0 }, 12, signal)
    const set = { 'message.timestamp.after.max.ms': String(10 * dayMs) }
    await west.admin.alterTopicConfigs([{ topic, set, unset: [] }])
    await running.edit(wordsOf([topic], {}))
    await untilEnd(west, { topic, partition: 0 }, 20, signal)
    assert.equal(await stopped(running), 0)
    assert.equal(await equalIn(topic, topic, signal), 120)
  })

  test('compression: zstd gives batches of every codec that one, and the records are equal', async t => {
    const signal = ends(t.signal)
    const topic = 'odd-zstd'
    await made(topic, 2)
    const how = { seed: topic, timeMs: Date.now() - dayMs, batches: 30, recordsPerBatch: 100 }
    for (const partition of [0, 1])
      await writePlain(east, { topic, partition }, { ...how, codec: partition === 0 ? 'none' : 'lz4' }, signal)
    const running = await run(topic, [topic], { compression: 'zstd' }, signal)
    for (const partition of [0, 1]) {
      await untilEnd(west, { topic, partition }, 3_000, signal)
      for (const { header } of await readLog(west, { topic, partition }, signal))
        assert.equal(codecOf(header.attributes), 'zstd')
    }
    assert.deepEqual(
      await paths(running),
      new Map([
        ['compress', 30],
        ['recode', 30],
      ]),
    )
    assert.equal(await stopped(running), 0)
    assert.equal(await equalIn(topic, topic, signal), 6_000)
  })

  test('many batches of one record are joined, and the records are equal and in order', async t => {
    const signal = ends(t.signal)
    const topic = 'odd-joined'
    await made(topic, 2)
    for (const partition of [0, 1]) {
      const name = partition === 0 ? 'none' : 'zstd'
      const batches = varied(`${topic}/${partition}`, 2_000).map(record => sampleBatch([record], name))
      await send(east, { topic, partition }, batches, signal)
    }
    await write(east, { topic, partition: 0 }, [0, 100], signal, 1)
    const running = await run(topic, [topic], {}, signal)
    for (const [partition, end] of [
      [0, 2_100],
      [1, 2_000],
    ] as const) {
      const part = { topic, partition }
      await untilEnd(west, part, end, signal)
      const [there, here] = [await readLog(east, part, signal), await readLog(west, part, signal)]
      assert.ok(here.length < there.length / 10, `${here.length} of ${there.length}`)
      const values = (log: typeof here) => log.flatMap(batch => records(batch, codec)).map(record => `${record.value}`)
      assert.deepEqual(values(here), values(there))
    }
    assert.ok(((await paths(running)).get('join') ?? 0) > 0)
    assert.equal(await stopped(running), 0)
    assert.equal(await equalIn(topic, topic, signal), 4_100)
  })
})

type Configs = Record<string, string>

/** The destination's settings are its own: what is made by hand there stays. */
function wordsOf(names: string[], more: Record<string, unknown>) {
  return { topics: { names }, destination: { config: { sync: false } }, ...more }
}

function varied(seed: string, count: number): SampleRecord[] {
  const chance = seeded(seed)
  const how = { timeMs: Date.now() - dayMs, valueBytes: [20, 200] as [number, number] }
  return Array.from({ length: count }, (_, n) => variedRecord(chance, n, how))
}

/** Values of 300 bytes that no codec presses. */
function noise(seed: string, from: number, count: number, name: CodecName): Batch {
  const chance = seeded(`${seed} ${from}`)
  const made = Array.from({ length: count }, (_, i) => ({
    timestamp: BigInt(Date.now() - dayMs + from + i),
    key: null,
    value: Buffer.from(Array.from({ length: 300 }, () => Math.floor(chance() * 256))),
    headers: [],
  }))
  return sampleBatch(made, name)
}

const byNumber = (one: number, other: number) => one - other

/** Until a measure of a partition has this value. */
async function until(running: RunningMillrace, what: string, part: Part, value: number, signal: AbortSignal) {
  await eventually(async () => {
    const found = await measured(running, `millrace_mirror_${what}`)
    const of = [...found].find(
      ([labels]) => labels.includes(`topic="${part.topic}"`) && labels.includes(`partition="${part.partition}"`),
    )
    return of?.[1] === value ? true : null
  }, signal)
}

/** How many batches went which way, those that none went left out. */
async function paths(running: RunningMillrace): Promise<Map<string, number>> {
  const found = new Map<string, number>()
  for (const [labels, count] of await measured(running, 'millrace_mirror_batches_total')) {
    const path = /path="(\w+)"/.exec(labels)?.[1] ?? ''
    if (count > 0) found.set(path, (found.get(path) ?? 0) + count)
  }
  return new Map([...found].toSorted())
}
