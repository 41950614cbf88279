import '../../properties.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { apiVersionsApi } from '../../../engine/adapters/kafka/frames/apiVersions.ts'
import { type FetchQuestion, fetchApi } from '../../../engine/adapters/kafka/frames/fetch.ts'
import { Link } from '../../../engine/adapters/kafka/link.ts'
import { Reader, Writer } from '../../../engine/adapters/kafka/wire.ts'

const still = { nowMs: () => 0, wallMs: () => 0, after: () => () => {} }

/** A link and what it writes. */
function linked(fetchVersion: number) {
  const written: Buffer[] = []
  const wire = {
    cork() {},
    uncork() {},
    write: (bytes: Buffer) => written.push(bytes) > 0,
    resume() {},
    destroy() {},
  }
  const link = new Link(wire, { name: 'east', clientId: 'millrace', clock: still, account: null })
  link.agree(new Map([[fetchApi.key, fetchVersion]]))
  const frame = () => Buffer.concat(written.splice(0)).toString('hex')
  const skip = (correlations: number) => {
    for (let i = 0; i < correlations; i++)
      void link.ask(apiVersionsApi, { software: '', version: '' }, { timeoutMs: 1 })
    written.length = 0
  }
  return { link, frame, skip }
}

const question: FetchQuestion = {
  maxWaitMs: 500,
  minBytes: 1,
  maxBytes: 8 * 1024 * 1024,
  isolation: 1,
  rack: '',
  topics: [
    {
      topic: 'clicks',
      topicId: Buffer.from('00112233445566778899aabbccddeeff', 'hex').toString('base64url'),
      partitions: [{ partition: 3, leaderEpoch: 5, offset: 4294967297n, lastFetchedEpoch: 4, maxBytes: 1024 * 1024 }],
    },
  ],
}

describe('a request', () => {
  it('KAFKA 1: for the versions of a broker is the frame of the vectors', () => {
    const { link, frame, skip } = linked(17)
    skip(7)
    void link.ask(apiVersionsApi, { software: 'millrace', version: '1' }, { timeoutMs: 1 })
    assert.equal(frame(), '0000001f001200030000000700086d696c6c7261636500096d696c6c72616365023100')
  })

  it('KAFKA 1: for records is the frame of the vectors, with topic ids and with names', () => {
    const vectors = {
      17: '0000005f000100110000000100086d696c6c7261636500000001f400000001008000000100000000ffffffff0200112233445566778899aabbccddeeff020000000300000005000000010000000100000004ffffffffffffffff001000000000010100',
      12: '0000005a0001000c0000000100086d696c6c7261636500ffffffff000001f400000001008000000100000000ffffffff0207636c69636b73020000000300000005000000010000000100000004ffffffffffffffff001000000000010100',
    }
    for (const [version, vector] of Object.entries(vectors)) {
      const { link, frame, skip } = linked(Number(version))
      skip(1)
      void link.ask(fetchApi, question, { timeoutMs: 1 })
      assert.equal(frame(), vector)
    }
  })
})

const written = (write: (w: Writer) => void) => {
  const w = new Writer(1)
  write(w)
  return Buffer.concat(w.done())
}

describe('the flexible encoding', () => {
  it('KAFKA 1: has lengths as unsigned varints', () => {
    const hex = (value: number) => written(w => w.uvarint(value)).toString('hex')
    assert.deepEqual([127, 128, 16384].map(hex), ['7f', '8001', '808001'])
    fc.assert(
      fc.property(fc.nat(2 ** 32 - 1), value =>
        assert.equal(new Reader(written(w => w.uvarint(value))).uvarint(), value),
      ),
    )
  })

  it('gives back what was written, null against empty, raw parts uncopied', () => {
    const raw = Buffer.from('raw part')
    const w = new Writer(1)
    w.i8(-1).bool(true).i16(-2).i32(-3).i64(-4n).str('é').str('').str(null).uuid('').raw(raw)
    const parts = w
      .array([1, 2], n => w.i32(n))
      .array(null, () => {})
      .tags()
      .done()
    assert.ok(parts.includes(raw))
    const r = new Reader(Buffer.concat(parts))
    assert.deepEqual([r.i8(), r.bool(), r.i16(), r.i32(), r.i64()], [-1, true, -2, -3, -4n])
    assert.deepEqual([r.str(), r.str(), r.str(), r.uuid()], ['é', '', null, ''])
    assert.deepEqual([r.bytes(), r.array(() => r.i32()), r.array(() => r.i32())], [raw, [1, 2], null])
    r.tags()
    assert.equal(r.left, 0)
  })

  it('skips tags it does not know by their size, also when a known one reads less than it has', () => {
    const bytes = Buffer.from('03 00 03 000102 05 01 09 01 02 0007 2a'.replaceAll(' ', ''), 'hex')
    const r = new Reader(bytes)
    let seen = 0
    r.tags({
      1: () => {
        seen = r.i8()
      },
    })
    assert.deepEqual([seen, r.i8()], [0, 42])
  })

  it('ends with a RangeError past the end, never with a hang or a large array', () => {
    const reads: ((r: Reader) => unknown)[] = [
      r => r.i64(),
      r => r.uuid(),
      r => r.str(),
      r => r.bytes(),
      r => r.tags(),
      r => r.array(() => r.i8()),
      r => r.uvarint(),
    ]
    const property = fc.property(fc.uint8Array({ maxLength: 12 }), fc.constantFrom(...reads), (bytes, read) => {
      try {
        read(new Reader(Buffer.from(bytes)))
      } catch (error) {
        assert.ok(error instanceof RangeError)
      }
    })
    fc.assert(property, { numRuns: 2_000 })
    assert.throws(() => new Reader(Buffer.from('ffffffff0f0000', 'hex')).array(() => 0), RangeError)
  })
})
