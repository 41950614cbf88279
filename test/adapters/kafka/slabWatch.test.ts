import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryAccount } from '../../../engine/adapters/kafka/slab.ts'
import { slabBytes, slabCopyAfterMs } from '../../../engine/limits.ts'
import type { Batch } from '../../../engine/ports/kafka.ts'
import { manualClock } from '../../fakes/clock.ts'
import { batchOfBytes } from '../../fakes/kafka/batches.ts'
import { fakeKafka } from '../../fakes/kafka/cluster.ts'

const never = new AbortController().signal

/** One frame in a slab: a batch of 900,000 bytes of each partition, held by whoever asked. */
async function held(partitions: number) {
  const clock = manualClock()
  const account = new MemoryAccount({ poison: true })
  const fake = fakeKafka({ clock, account })
  const { topicId } = fake.topic('t', partitions)
  const made = batchOfBytes(900_000)
  for (let partition = 0; partition < partitions; partition++) fake.write({ topic: 't', partition }, made)
  const source = fake.source({ isolation: 'read_committed', rack: null })
  const streams = Array.from({ length: partitions }, (_, partition) =>
    source.open({ topic: 't', partition, topicId }, { offset: 0n, epoch: -1 }),
  )
  const batches: Batch[] = []
  for (const stream of streams)
    void stream.next(never).then(answer => {
      if (answer.is === 'batches') batches.push(...answer.batches)
    })
  await clock.until(() => batches.length === partitions)
  assert.equal(account.heldBytes, slabBytes)
  return { clock, account, fake, batches, made }
}

test('a batch that is held long in a slab that holds little else is copied out, and the slab goes back', async () => {
  const { clock, account, fake, batches, made } = await held(4)
  await clock.advance(slabCopyAfterMs / 2)
  assert.equal(account.heldBytes, slabBytes)
  const [kept, ...others] = batches
  for (const batch of others) batch.release()
  await clock.advance(2 * slabCopyAfterMs)
  assert.equal(account.heldBytes, kept?.bytes.length)
  // The account fills what it gets back: a view of the slab would show it.
  assert.deepEqual(kept?.bytes.subarray(57), made.subarray(57))
  kept?.release()
  assert.equal(account.heldBytes, 0)
  await fake.close()
})

test('a slab that is at least half in use stays, however long', async () => {
  const { clock, account, fake, batches } = await held(8)
  await clock.advance(10 * slabCopyAfterMs)
  assert.equal(account.heldBytes, slabBytes)
  for (const batch of batches) batch.release()
  assert.equal(account.heldBytes, 0)
  await fake.close()
})
