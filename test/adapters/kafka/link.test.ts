import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fetchApi } from '../../../engine/adapters/kafka/frames/fetch.ts'
import { initProducerIdApi } from '../../../engine/adapters/kafka/frames/initProducerId.ts'
import { Link } from '../../../engine/adapters/kafka/link.ts'
import { MemoryAccount } from '../../../engine/adapters/kafka/slab.ts'
import { Writer } from '../../../engine/adapters/kafka/wire.ts'
import { frameBytesMax } from '../../../engine/limits.ts'
import { manualClock } from '../../fakes/clock.ts'
import { FakeWire } from '../../fakes/kafka/wire.ts'

const question = { transactionalId: null, timeoutMs: 1000, producerId: -1n, producerEpoch: -1 }
const fetchQuestion = { maxWaitMs: 500, minBytes: 1, maxBytes: 1, isolation: 0, rack: '', topics: [] } as const

/** A response frame: length, correlation id, an empty tag section, the body. */
function frame(correlation: number, body: Buffer[]): Buffer {
  const all = Buffer.concat([Buffer.alloc(9), ...body])
  all.writeInt32BE(all.length - 4, 0)
  all.writeInt32BE(correlation, 4)
  return all
}

const producerIdFrame = (correlation: number, producerId: bigint) =>
  frame(correlation, new Writer().i32(0).i16(0).i64(producerId).i16(0).tags().done())

function fetchFrame(correlation: number, records: Buffer): Buffer {
  const w = new Writer().i32(0).i16(0).i32(0)
  w.array([records], bytes => {
    w.uuid('').array([bytes], one => {
      w.i32(0).i16(0).i64(9n).i64(9n).i64(0n)
      w.array([], () => {})
        .i32(-1)
        .raw(one)
        .tags()
    })
    w.tags()
  })
  return frame(correlation, w.tags().done())
}

function linkOver(account: MemoryAccount | null, pieceBytes?: number) {
  const clock = manualClock()
  const wire = new FakeWire({ onRequest: () => {}, ...(pieceBytes ? { pieceBytes } : {}) })
  const link = new Link(wire, { name: 'broker', clientId: 'millrace', clock, account })
  wire.attach(link)
  link.agree(
    new Map([
      [initProducerIdApi.key, 5],
      [fetchApi.key, 17],
    ]),
  )
  return { clock, wire, link }
}

/** Asks for ten producer ids, lets the chunks come, gives the ids in the order in which the answers came. */
async function answersOf(chunks: Buffer[]): Promise<bigint[]> {
  const { clock, wire, link } = linkOver(null)
  const came: bigint[] = []
  for (let i = 0; i < 10; i++) {
    void link.ask(initProducerIdApi, question, { timeoutMs: 1000 }).then(({ answer }) => came.push(answer.producerId))
  }
  for (const chunk of chunks) wire.deliver(chunk)
  await clock.settle()
  assert.equal(link.open, 0)
  link.end(null)
  return came
}

const ten = Buffer.concat([...Array(10).keys()].map(i => producerIdFrame(i, BigInt(100 + i))))
const ids = [...Array(10).keys()].map(i => BigInt(100 + i))

test('KAFKA 8: ten frames in one chunk give the same responses in order', async () => {
  assert.deepEqual(await answersOf([ten]), ids)
})

test('KAFKA 8: frames cut at any byte give the same responses in order', async () => {
  for (let cut = 1; cut < ten.length; cut++) {
    assert.deepEqual(await answersOf([ten.subarray(0, cut), ten.subarray(cut)]), ids, `cut at ${cut}`)
  }
  assert.deepEqual(await answersOf([...ten].map(byte => Buffer.from([byte]))), ids, 'byte by byte')
})

test('KAFKA 8: a frame that waits for memory goes on in its own buffer, wherever it was cut', async () => {
  const records = Buffer.from(Array.from({ length: 3000 }, (_, i) => i % 251))
  const bytes = Buffer.concat([fetchFrame(0, records), fetchFrame(1, records)])
  for (let cut = 1; cut < bytes.length; cut += 7) {
    const account = new MemoryAccount({ bytesMax: 3500, poison: true })
    const { clock, wire, link } = linkOver(account, 1000)
    const other = account.count(Buffer.alloc(3000))
    const replies = [0, 1].map(() => link.ask(fetchApi, { ...fetchQuestion, topics: [] }, { timeoutMs: 1000 }))
    const came: Buffer[] = []
    for (const reply of replies)
      void reply.then(({ answer, frame }) => {
        came.push(Buffer.from(answer.topics[0]?.partitions[0]?.records ?? []))
        frame.release()
      })
    wire.deliver(bytes.subarray(0, cut))
    await clock.settle()
    assert.equal(came.length, 0)
    other.release()
    await clock.settle()
    wire.deliver(bytes.subarray(cut))
    await clock.settle()
    assert.deepEqual(came, [records, records], `cut at ${cut}`)
    assert.equal(account.heldBytes, 0)
    link.end(null)
  }
})

test('KAFKA 8: a large frame is copied only as far as it came with its length', async () => {
  const records = Buffer.alloc(1_000_000, 7)
  const { clock, wire, link } = linkOver(new MemoryAccount(), 200_000)
  const reply = link.ask(fetchApi, { ...fetchQuestion, topics: [] }, { timeoutMs: 1000 })
  wire.deliver(fetchFrame(0, records))
  await clock.settle()
  const { answer, frame } = await reply
  assert.ok(answer.topics[0]?.partitions[0]?.records?.equals(records))
  assert.ok(link.counts.copiedBytes <= 64 * 1024)
  frame.release()
  link.end(null)
})

for (const length of [-1, 3, frameBytesMax + 1]) {
  test(`a frame of ${length} bytes ends its link, and with it the question that waits`, async () => {
    const { clock, wire, link } = linkOver(null)
    const answer = assert.rejects(link.ask(initProducerIdApi, question, { timeoutMs: 1000 }), {
      code: 'kafka-link-lost',
    })
    const head = Buffer.alloc(4)
    head.writeInt32BE(length)
    wire.deliver(head)
    await clock.settle()
    assert.equal(link.alive, false)
    await answer
  })
}
