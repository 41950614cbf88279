import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { planSend } from '../../../../engine/adapters/kafka/decide/planSend.ts'
import { type SendEntry, sendQueue } from '../../../../engine/adapters/kafka/decide/sendQueue.ts'

const entryOf = (bytes: number): SendEntry => ({
  state: 'queued',
  count: 1,
  bytes,
  sequence: null,
  written: false,
  inDoubt: false,
  maybeTaken: false,
  outOfOrder: 0,
})

function partitionOf(name: string, sizes: number[], how: { held?: boolean; mayWrite?: boolean } = {}) {
  const queue = { ...sendQueue<SendEntry>(), entries: sizes.map(entryOf) }
  return { name, queue, held: how.held ?? false, mayWrite: () => how.mayWrite ?? true }
}

function picked(partitions: ReturnType<typeof partitionOf>[], open = 0) {
  const picks = planSend(partitions, { open, openMax: 5, bytesMax: 100 })
  return picks?.map(({ partition, entry }) => [partition.name, entry.bytes]) ?? null
}

describe('the next request to a destination broker', () => {
  it('KAFKA 7: has one batch of each partition that has some', () => {
    const partitions = [partitionOf('a', [10, 11, 12]), partitionOf('b', []), partitionOf('c', [13])]
    assert.deepEqual(picked(partitions, 4), [
      ['a', 10],
      ['c', 13],
    ])
  })

  it('KAFKA 7: is none while five are open, or when nothing waits', () => {
    assert.equal(picked([partitionOf('a', [10])], 5), null)
    assert.equal(picked([partitionOf('b', [])]), null)
  })

  it('leaves out what is held, and what its lane may not write', () => {
    const partitions = [
      partitionOf('a', [10], { held: true }),
      partitionOf('b', [10], { mayWrite: false }),
      partitionOf('c', [10]),
    ]
    assert.deepEqual(picked(partitions), [['c', 10]])
  })

  it('stays below its bytes, and takes smaller ones of others meanwhile', () => {
    assert.deepEqual(picked([partitionOf('a', [60]), partitionOf('b', [60]), partitionOf('c', [40])]), [
      ['a', 60],
      ['c', 40],
    ])
  })

  it('carries a batch that is larger than that alone', () => {
    assert.deepEqual(picked([partitionOf('a', [300]), partitionOf('b', [1])]), [['a', 300]])
    assert.deepEqual(picked([partitionOf('b', [1]), partitionOf('a', [300])]), [['b', 1]])
  })
})
