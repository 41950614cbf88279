import assert from 'node:assert/strict'
import { test } from 'node:test'
import { selection } from '../../../engine/flow/select.ts'
import { unitsOf } from '../../../engine/mirror/decide/unitsOf.ts'
import type { ClusterView } from '../../../engine/ports/kafka.ts'

function cluster(...topics: [topic: string, partitions: number, code?: number][]): ClusterView {
  return {
    clusterId: 'c',
    brokers: [],
    topics: topics.map(([topic, partitions, code = 0]) => ({
      topic,
      topicId: `${topic}-id`,
      internal: false,
      code,
      partitions: Array.from({ length: partitions }, (_, partition) => ({
        partition,
        leader: 1,
        leaderEpoch: 0,
        code: 0,
      })),
    })),
  }
}

test('a unit is a partition that both sides have; what the destination lacks is missing, and named', () => {
  const selected = selection({ include: ['t.*'], exclude: [], names: [] })
  const source = cluster(['u', 1], ['t2', 3], ['t1', 1], ['t3', 1], ['t4', 1, 29])
  const found = unitsOf(source, cluster(['t1', 4], ['t2', 2], ['t3', 0, 3]), selected)
  assert.deepEqual(found.topics, ['t1', 't2', 't3'])
  assert.deepEqual(
    found.units.map(({ topic, partition }) => `${topic}/${partition}`),
    ['t1/0', 't2/0', 't2/1'],
  )
  assert.deepEqual(found.units[0], { topic: 't1', partition: 0, topicId: 't1-id', destinationId: 't1-id' })
  assert.deepEqual(
    found.missing.map(({ topic, partition }) => `${topic}/${partition}`),
    ['t2/2', 't3/0'],
  )
})
