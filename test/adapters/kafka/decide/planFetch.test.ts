import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type FetchPlace, planFetch } from '../../../../engine/adapters/kafka/decide/planFetch.ts'

const sizes = { bytesMax: 8_000, partitionBytesMax: 1_000, bytesMin: 1, waitMaxMs: 500, fullWaitMs: 50 }

const placeOf = (partition: number, state: FetchPlace['state'] = 'ready', topic = 't'): FetchPlace => ({
  topic,
  topicId: `id of ${topic}`,
  partition,
  leaderEpoch: 5,
  offset: 100n + BigInt(partition),
  lastFetchedEpoch: 4,
  state,
})

function plan(places: FetchPlace[], turn: number, mayFetch = true) {
  return planFetch(places, { mayFetch, turn, isolation: 1, rack: '', sizes })
}

const order = (places: FetchPlace[], turn: number) =>
  plan(places, turn)?.topics.flatMap(topic => topic.partitions.map(p => `${topic.topic}${p.partition}`))

describe('the next question to a source broker', () => {
  it('KAFKA 7: leaves a standing partition out', () => {
    assert.deepEqual(order([placeOf(1), placeOf(2, 'standing'), placeOf(3)], 0), ['t1', 't3'])
  })

  it('KAFKA 7: turns its order by one a request', () => {
    const places = [placeOf(1), placeOf(2), placeOf(3)]
    assert.deepEqual(order(places, 0), ['t1', 't2', 't3'])
    assert.deepEqual(order(places, 1), ['t2', 't3', 't1'])
    assert.deepEqual(order(places, 2), ['t3', 't1', 't2'])
  })

  it('KAFKA 7: is none while a socket waits for memory, or when nothing is ready', () => {
    assert.equal(plan([placeOf(1)], 0, false), null)
    assert.equal(plan([placeOf(1, 'standing'), placeOf(2, 'full')], 0), null)
    assert.equal(plan([], 0), null)
  })

  it('is to be answered soon while a partition is only over its window', () => {
    assert.equal(plan([placeOf(1)], 0)?.maxWaitMs, 500)
    assert.equal(plan([placeOf(1), placeOf(2, 'full')], 0)?.maxWaitMs, 50)
  })

  it('names each topic once as long as the turn does not cut it, and says everything of a partition', () => {
    const places = [placeOf(1, 'ready', 'a'), placeOf(2, 'ready', 'a'), placeOf(1, 'ready', 'b')]
    assert.deepEqual(
      plan(places, 0)?.topics.map(topic => topic.topic),
      ['a', 'b'],
    )
    assert.deepEqual(order(places, 1), ['a2', 'b1', 'a1'])
    assert.deepEqual(plan([placeOf(7)], 0), {
      maxWaitMs: 500,
      minBytes: 1,
      maxBytes: 8_000,
      isolation: 1,
      rack: '',
      topics: [
        {
          topic: 't',
          topicId: 'id of t',
          partitions: [{ partition: 7, leaderEpoch: 5, offset: 107n, lastFetchedEpoch: 4, maxBytes: 1_000 }],
        },
      ],
    })
  })
})
