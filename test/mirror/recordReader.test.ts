import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { codec, crc32c } from '../../engine/adapters/kafka/native.ts'
import { encode } from '../../engine/batch/encode.ts'
import { at, readHeader } from '../../engine/batch/header.ts'
import { readRecords } from '../../engine/mirror/recordReader.ts'
import type { Answer, Batch, BatchSource, Stream, Trouble } from '../../engine/ports/kafka.ts'
import { manualClock } from '../fakes/clock.ts'

const part = { topic: 't', partition: 0, topicId: '' }
const never = new AbortController().signal

/** A stream that gives these answers, then nothing more. `held` = batches not released yet. */
function sourceOf(answers: Answer[], trouble: Trouble | null = null) {
  const seen = { opened: 0, closed: 0 }
  const stream: Stream = {
    next: signal => {
      const answer = answers.shift()
      if (answer) return Promise.resolve(answer)
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
    },
    made: () => assert.fail('a reader makes no batches'),
    seek: () => {},
    trouble: () => trouble,
    close: () => void seen.closed++,
  }
  const source: BatchSource = {
    open: () => {
      seen.opened++
      return stream
    },
  }
  return { source, seen }
}

let held = 0
function batch(base: bigint, values: string[]): Batch {
  const made = values.map(value => ({ timestamp: 1n, key: null, value: Buffer.from(value), headers: [] }))
  const bytes = encode(made, { codec: 'lz4', transactional: false }, codec, crc32c)
  bytes.writeBigInt64BE(base, at.baseOffset)
  held++
  return { header: readHeader(bytes), bytes, tailCrc: null, retain() {}, release: () => void held-- }
}
const answer = (batches: Batch[], end = 10n): Answer => {
  return { is: 'batches', batches, aborted: [], logStart: 0n, lastStable: end, end }
}

function reader(answers: Answer[], range: { from: bigint; to: bigint }, trouble: Trouble | null = null) {
  const { source, seen } = sourceOf(answers, trouble)
  const clock = manualClock()
  const see = (record: { offset: bigint; value: Buffer | null }) => `${record.offset}=${record.value}`
  return { clock, seen, reader: readRecords({ source, part, ...range, codec, clock, see }) }
}

describe('reading the records of a partition', () => {
  it('gives what lies in the range, and releases every batch', async () => {
    const { reader: r } = reader([answer([batch(2n, ['a', 'b', 'c'])]), answer([batch(5n, ['d', 'e'])])], {
      from: 3n,
      to: 6n,
    })
    assert.deepEqual(await r.next(never), { seen: ['3=b', '4=c'], position: 5n })
    assert.deepEqual(await r.next(never), { seen: ['5=d'], position: 7n })
    assert.equal(await r.next(never), null)
    assert.equal(held, 0)
  })

  it('opens no stream for an empty range', async () => {
    const { reader: r, seen } = reader([], { from: 7n, to: 7n })
    assert.equal(await r.next(never), null)
    r.close()
    assert.deepEqual(seen, { opened: 0, closed: 0 })
  })

  it('ends where compaction has left nothing before the end', async () => {
    const { reader: r } = reader([answer([batch(0n, ['a'])]), answer([])], { from: 0n, to: 10n })
    assert.deepEqual(await r.next(never), { seen: ['0=a'], position: 1n })
    assert.deepEqual(await r.next(never), { seen: [], position: 10n })
    assert.equal(await r.next(never), null)
  })

  it('says what stands in the way', async () => {
    const gone: Answer = { is: 'out-of-range', logStart: 5n, lastStable: 9n, end: 9n }
    await assert.rejects(reader([gone], { from: 0n, to: 9n }).reader.next(never), {
      code: 'source-gap',
      message: 't/0: out-of-range: the log is now 5 to 9',
    })
    const again: Answer = { is: 'recreated', topicId: 'x' }
    await assert.rejects(reader([again], { from: 0n, to: 9n }).reader.next(never), { code: 'topic-recreated' })
  })

  it('waits for a stream that is slow, and gives up one that has been in trouble for 30 s', async () => {
    const slow = reader([], { from: 0n, to: 9n })
    const stop = new AbortController()
    const waiting = slow.reader.next(stop.signal)
    await slow.clock.advance(600_000)
    stop.abort(new Error('stopped'))
    await assert.rejects(waiting, { message: 'stopped' })

    const code = 'kafka-unreachable'
    const trouble: Trouble = { code, kafka: null, message: 'no broker', sinceMs: 0, tries: 9, nextTryMs: 0 }
    const broken = reader([], { from: 0n, to: 9n }, trouble)
    let ended: unknown = null
    broken.reader.next(never).catch(error => {
      ended = error
    })
    await broken.clock.advance(29_000)
    assert.equal(ended, null)
    await broken.clock.advance(1_000)
    assert.match(String(ended), /no broker/)
  })
})
