import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { codec, crc32c } from '../../engine/adapters/kafka/native.ts'
import { encode } from '../../engine/batch/encode.ts'
import { readHeader } from '../../engine/batch/header.ts'
import { records } from '../../engine/batch/records.ts'
import { MillraceError } from '../../engine/errors.ts'
import { provenanceBatchBytesMax } from '../../engine/limits.ts'
import { type Provenance, provenanceKey, provenanceText } from '../../engine/mirror/decide/provenance.ts'
import {
  type ProvenanceRead,
  provenanceOf,
  provenanceTopicName,
  readProvenance,
  writeProvenance,
} from '../../engine/mirror/provenanceTopic.ts'
import { manualClock } from '../fakes/clock.ts'
import { marker } from '../fakes/kafka/batches.ts'
import { fakeKafka } from '../fakes/kafka/cluster.ts'

const never = new AbortController().signal

function record(topic: string, more: Partial<Provenance> = {}): Provenance {
  const ids = { sourceId: 'id', from: 'east', via: ['east'] }
  return { flow: 'f', topic, src: topic, ...ids, parts: 1, set: [], claims: false, endedMs: null, ...more }
}

function prepared(flows: string[] = ['f']) {
  const clock = manualClock()
  const kafka = fakeKafka({ clock, brokers: 2 })
  for (const flow of flows) kafka.topic(provenanceTopicName(flow))
  /** Lets the clock go on until the promise has ended. */
  const over = async <T>(promise: Promise<T>): Promise<T> => {
    let ended = false
    const mark = () => {
      ended = true
    }
    promise.then(mark, mark)
    await clock.until(() => ended)
    return promise
  }
  const part = (flow: string) => ({ topic: provenanceTopicName(flow), partition: 0 })
  const start = (flow: string, some: Provenance[], signal = never, mayWrite = () => true) => {
    const topicId = kafka.topicIdOf(provenanceTopicName(flow))
    return writeProvenance(kafka, flow, some, { topicId, mayWrite, codec, crc: crc32c, clock, signal })
  }
  const view = () => over(kafka.admin.look('all'))
  return {
    clock,
    kafka,
    over,
    part,
    view,
    start,
    write: (flow: string, some: Provenance[]) => over(start(flow, some)),
    async read(before: ProvenanceRead | null = null, names: 'all' | string[] = 'all') {
      const how = { codec, clock, signal: never }
      return over(readProvenance(kafka, await view(), names, before, how))
    },
    /** What somebody writes who is not us. */
    put(flow: string, pairs: [string | null, string | null][]) {
      const made = pairs.map(([key, value]) => {
        const [keyBytes, valueBytes] = [key, value].map(text => (text === null ? null : Buffer.from(text)))
        return { timestamp: 1n, key: keyBytes ?? null, value: valueBytes ?? null, headers: [] }
      })
      kafka.write(part(flow), encode(made, { codec: 'lz4', transactional: false }, codec, crc32c))
    },
    requests: () => new Map(kafka.brokers.requests),
  }
}

/** How often each API was asked since `before`; leaders are anybody's to look for. */
function since(before: Map<string, number>, now: Map<string, number>): Record<string, number> {
  const more = [...now].map(([api, count]): [string, number] => [api, count - (before.get(api) ?? 0)])
  return Object.fromEntries(more.filter(([api, count]) => count > 0 && api !== 'Metadata'))
}

const all = (read: ProvenanceRead) => [...read.records.values()]
const isRetryable = (code: string) => (error: unknown) =>
  error instanceof MillraceError && error.code === code && error.retryable

describe('reading provenance', () => {
  it('gives what was written, of all flows or of those named, each apart', async () => {
    const { write, read } = prepared(['f', 'g'])
    await write('f', [record('t'), record('u')])
    await write('g', [record('t', { flow: 'g', from: 'north', via: ['north'] })])
    const whole = await read()
    assert.equal(whole.records.size, 3)
    assert.deepEqual(provenanceOf(whole, 'f', 't'), record('t'))
    assert.deepEqual(provenanceOf(whole, 'g', 't')?.via, ['north'])
    assert.equal(provenanceOf(whole, 'g', 'u'), null)
    assert.deepEqual(all(await read(null, [provenanceTopicName('g')])), [provenanceOf(whole, 'g', 't')])
    assert.deepEqual(all(await read(null, ['millrace.mirror.none'])), [])
  })

  it('takes the last value of a key, and nothing after a tombstone; what is not ours is passed over', async () => {
    const { write, read, put } = prepared()
    await write('f', [record('t'), record('u'), record('t', { parts: 2 })])
    put('f', [
      [provenanceKey('u'), null],
      [null, 'a'],
      ['a', null],
      [provenanceKey('t'), provenanceText(record('t')).replace('"v":1', '"v":2')],
    ])
    assert.deepEqual(all(await read()), [record('t', { parts: 2 })])
  })

  it('goes on where the last read ended', async () => {
    const { write, read, requests } = prepared()
    await write('f', [record('t'), record('u')])
    const first = await read()
    await write('f', [record('u', { parts: 5 }), record('w')])
    const before = requests()
    const second = await read(first)
    assert.deepEqual(all(second), [record('t'), record('u', { parts: 5 }), record('w')])
    assert.equal(since(before, requests())['ListOffsets'], 2)
    assert.deepEqual(all(first), [record('t'), record('u')])
  })

  it('asks for offsets only when nothing is new, and for nothing where no flow writes', async () => {
    const { write, read, requests } = prepared()
    await write('f', [record('t')])
    const first = await read()
    const before = requests()
    assert.deepEqual(await read(first), first)
    assert.deepEqual(since(before, requests()), { ListOffsets: 1 })

    const none = prepared([])
    const asked = none.requests()
    assert.deepEqual(all(await none.read()), [])
    assert.deepEqual(since(asked, none.requests()), {})
  })

  it('reads a topic made anew from its start, and forgets what the old one said', async () => {
    const { kafka, write, read } = prepared()
    await write('f', [record('t'), record('u')])
    const first = await read()
    kafka.recreateTopic(provenanceTopicName('f'))
    assert.deepEqual(all(await read(first)), [])
    await write('f', [record('v'), record('w')])
    assert.deepEqual(all(await read(first)), [record('v'), record('w')])
    kafka.deleteTopic(provenanceTopicName('f'))
    assert.deepEqual(await read(first), { records: new Map(), positions: new Map() })
  })

  it('reads all again of a log that was cut behind what was read', async () => {
    const { kafka, write, read, part } = prepared()
    await write('f', [record('t')])
    await write('f', [record('u')])
    const first = await read()
    kafka.truncate(part('f'), 1n)
    assert.deepEqual(all(await read(first)), [record('t')])
  })

  it('reads all again of a log that has lost more than what was read', async () => {
    const { kafka, write, read, part } = prepared()
    await write('f', [record('t')])
    const first = await read()
    for (const topic of ['u', 'v']) await write('f', [record(topic)])
    kafka.trimTo(part('f'), 2n)
    assert.deepEqual(all(await read(first)), [record('v')])
    kafka.trimTo(part('f'), 3n)
    assert.deepEqual(all(await read()), [])
  })

  it('reads up to an open transaction, and without the aborted ones', async () => {
    const { kafka, write, read, part } = prepared()
    await write('f', [record('t')])
    const value = Buffer.from(provenanceText(record('u')))
    const made = [{ timestamp: 1n, key: Buffer.from(provenanceKey('u')), value, headers: [] }]
    const bytes = encode(made, { codec: 'none', transactional: true }, codec, crc32c)
    bytes.writeBigInt64BE(77n, 43)
    bytes.writeUInt32BE(crc32c(bytes.subarray(21)), 17)
    kafka.write(part('f'), bytes)
    const first = await read()
    assert.deepEqual(all(first), [record('t')])
    assert.equal(first.positions.get(provenanceTopicName('f'))?.offset, 1n)
    kafka.log(part('f')).endTransaction(marker(77n, false), false)
    await write('f', [record('w')])
    assert.deepEqual(all(await read(first)), [record('t'), record('w')])
  })

  it('ends when the cluster hangs, and can be tried again', async () => {
    for (const api of ['Fetch', 'ListOffsets']) {
      const { kafka, clock, write, view, over } = prepared()
      await write('f', [record('t')])
      const seen = await view()
      const releases = [0, 1].map(broker => kafka.holdAnswers(broker, api))
      const beganMs = clock.nowMs()
      const reading = readProvenance(kafka, seen, 'all', null, { codec, clock, signal: never })
      await assert.rejects(over(reading), isRetryable('kafka-unreachable'))
      assert.ok(clock.nowMs() - beganMs <= 45_000, `${clock.nowMs() - beganMs} ms`)
      for (const release of releases) release()
      const again = readProvenance(kafka, seen, 'all', null, { codec, clock, signal: never })
      assert.deepEqual(all(await over(again)), [record('t')])
    }
  })

  it('ends with its signal', async () => {
    for (const api of ['Fetch', 'ListOffsets']) {
      const { kafka, clock, write, view } = prepared()
      await write('f', [record('t')])
      const seen = await view()
      for (const broker of [0, 1]) kafka.holdAnswers(broker, api)
      const stop = new AbortController()
      const reading = readProvenance(kafka, seen, 'all', null, { codec, clock, signal: stop.signal })
      await clock.advance(1_000)
      const reason = new Error('stopped')
      stop.abort(reason)
      await assert.rejects(reading, reason)
    }
  })

  it('is refused where a topic that is there cannot be read: it may tell of a loop', async () => {
    const { kafka, clock, view, over } = prepared()
    const seen = await view()
    for (const topic of seen.topics) topic.code = 29
    const reading = readProvenance(kafka, seen, 'all', null, { codec, clock, signal: never })
    await assert.rejects(over(reading), isRetryable('kafka-not-authorized'))
  })

  it('is tried again with a new view when the topic was made anew since the view', async () => {
    const { kafka, clock, write, view, over, read } = prepared()
    await write('f', [record('t')])
    const seen = await view()
    kafka.recreateTopic(provenanceTopicName('f'))
    await write('f', [record('u')])
    const reading = readProvenance(kafka, seen, 'all', null, { codec, clock, signal: never })
    await assert.rejects(over(reading), isRetryable('topic-recreated'))
    assert.deepEqual(all(await read()), [record('u')])
  })
})

describe('writing provenance', () => {
  it('cuts what is large into batches that a topic takes by default', async () => {
    const { kafka, write, read, part } = prepared()
    const many = Array.from({ length: 9_000 }, (_, i) => record(`topic-${i}`, { src: 'x'.repeat(150) }))
    await write('f', many)
    const stored = kafka.log(part('f')).batches
    const sizes = stored.map(({ bytes }) => bytes.length)
    assert.ok(sizes.length >= 2 && sizes.length <= 4, `${sizes}`)
    assert.ok(Math.max(...sizes) <= provenanceBatchBytesMax)
    assert.ok(Math.max(...sizes) > provenanceBatchBytesMax * 0.9)
    assert.deepEqual(all(await read()), many)
  })

  it('writes keys and values byte for byte, with the time of now', async () => {
    const { kafka, clock, write, part } = prepared()
    await write('f', [record('t', { endedMs: 5 })])
    const [batch] = kafka.log(part('f')).batches
    assert.ok(batch)
    const [stored] = records({ header: readHeader(batch.bytes), bytes: batch.bytes }, codec)
    assert.equal(String(stored?.key), provenanceKey('t'))
    assert.equal(String(stored?.value), provenanceText(record('t', { endedMs: 5 })))
    assert.ok(Math.abs(Number(stored?.timestamp) - clock.wallMs()) < 1_000)
  })

  it('sends nothing when there is nothing to write', async () => {
    const { write, requests } = prepared()
    await write('f', [])
    assert.deepEqual(requests(), new Map())
  })

  it('says why it was refused', async () => {
    const { kafka, write, read, part } = prepared()
    kafka.failNextProduce(part('f'), 87)
    await assert.rejects(write('f', [record('t')]), {
      code: 'batch-refused',
      retryable: false,
      kafka: 87,
      message: "millrace.mirror.f/0: provenance is refused (Kafka's error 87): the broker says 87",
    })
    await write('f', [record('u')])
    assert.deepEqual(all(await read()), [record('u')])
  })

  it('gives up after 30 s of trouble or without the lease, and writes nothing later', async () => {
    const silent = prepared()
    silent.kafka.stopBroker(0)
    silent.kafka.stopBroker(1)
    const beganMs = silent.clock.nowMs()
    await assert.rejects(silent.write('f', [record('t')]), isRetryable('kafka-unreachable'))
    assert.equal(silent.clock.nowMs() - beganMs, 30_000)

    const { kafka, clock, over, start, part } = prepared()
    let lease = false
    await assert.rejects(over(start('f', [record('t')], never, () => lease)), isRetryable('kafka-unreachable'))
    lease = true
    await clock.advance(60_000)
    assert.equal(kafka.log(part('f')).batches.length, 0)
  })

  it('ends with its signal', async () => {
    const { clock, start } = prepared()
    const stop = new AbortController()
    const writing = start('f', [record('t')], stop.signal, () => false)
    await clock.advance(1_000)
    const reason = new Error('stopped')
    stop.abort(reason)
    await assert.rejects(writing, reason)
    await assert.rejects(start('f', [record('t')], stop.signal), reason)
  })
})
