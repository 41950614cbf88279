import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryAccount } from '../../../engine/adapters/kafka/slab.ts'
import { SourceStream } from '../../../engine/adapters/kafka/stream.ts'
import type { Answer, Batch } from '../../../engine/ports/kafka.ts'

test('a flow is told once that nothing lies between its position and the end', async () => {
  const home = { account: new MemoryAccount(), nowMs: () => 0, wake() {}, trouble: () => null, closed() {} }
  const stream = new SourceStream({ topic: 't', partition: 0, topicId: '' }, { offset: 4n, epoch: 0 }, 0, home)
  const answer = (batches: Batch[], end: bigint): Answer => {
    return { is: 'batches', batches, aborted: [], logStart: 0n, lastStable: end, end }
  }
  const given: number[] = []
  const deliver = async (one: Answer) => {
    const asked = new AbortController()
    const next = stream.next(asked.signal).then(
      found => void given.push(found.is === 'batches' ? found.batches.length : -1),
      () => {},
    )
    stream.deliver(one)
    asked.abort()
    await next
  }
  await deliver(answer([stream.made(Buffer.alloc(100))], 10n))
  // Compaction has emptied offsets 4 to 9, and the broker says so again and again.
  await deliver(answer([], 10n))
  await deliver(answer([], 10n))
  assert.deepEqual(given, [1, 0])
  await deliver(answer([], 11n))
  stream.position = { offset: 11n, epoch: 0 }
  await deliver(answer([], 11n))
  await deliver(answer([], 11n))
  assert.deepEqual(given, [1, 0, 0, 0])
  stream.close()
})
