import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judge } from '../../bench/soak/judge.ts'
import { type Incarnation, numberOf, whoseNumber } from '../../bench/soak/ledger.ts'
import type { JsonLine } from '../live/millrace.ts'

const at = (ms: number) => new Date(ms).toISOString()
const event = (fields: Record<string, unknown>): JsonLine => ({ type: 'event', topic: 't', at: at(2_000), ...fields })

/** One partition of ten records of which the first `arrived` have arrived, but for those in `missing`. */
function judged(of: {
  arrived: number
  missing?: number[]
  trims?: { before: number; wasStarted: boolean }[]
  deletedMs?: number
  events?: JsonLine[]
}) {
  const part = { sent: 12, acked: 10, trims: of.trims ?? [] }
  const one: Incarnation = {
    number: 1,
    topic: 't',
    topicId: 'a',
    parts: [part],
    createdMs: 1_000,
    deletedMs: of.deletedMs ?? null,
  }
  const seen = Uint8Array.from({ length: 12 }, (_, n) => (n < of.arrived && !of.missing?.includes(n) ? 1 : 0))
  const { lost, gapRecords, beforeStart, deletedRecords, unseen } = judge([one], () => seen, of.events ?? [])
  return { lost, gapRecords, beforeStart, deletedRecords, unseen }
}

const none = { lost: 0, gapRecords: 0, beforeStart: 0, deletedRecords: 0, unseen: 0 }

test('what was acknowledged and has not arrived is lost, what was only sent is not', () => {
  assert.deepEqual(judged({ arrived: 10 }), none)
  assert.deepEqual(judged({ arrived: 9 }), { ...none, lost: 1 })
  assert.deepEqual(judged({ arrived: 10, missing: [4] }), { ...none, lost: 1 })
})

test('a gap accounts for what is inside of it, if it ends where the log was trimmed to', () => {
  const gap = event({ code: 'source-gap', partition: 0, from: 2, to: 5 })
  const trims = [{ before: 5, wasStarted: true }]
  assert.deepEqual(judged({ arrived: 10, missing: [2, 3, 4], trims, events: [gap] }), { ...none, gapRecords: 3 })
  const more = { ...none, lost: 1, gapRecords: 3 }
  assert.deepEqual(judged({ arrived: 10, missing: [1, 2, 3, 4], trims, events: [gap] }), more)
  assert.deepEqual(judged({ arrived: 10, missing: [2, 3, 4], events: [gap] }), { ...none, lost: 3 })
  const other = event({ ...gap, partition: 1 })
  assert.deepEqual(judged({ arrived: 10, missing: [2], trims, events: [other] }), { ...none, lost: 1 })
})

test('what was trimmed before the partition was begun needs no gap, what was trimmed later does', () => {
  const missing = [0, 1, 2]
  const before = (wasStarted: boolean) => [{ before: 3, wasStarted }]
  assert.deepEqual(judged({ arrived: 10, missing, trims: before(false) }), { ...none, beforeStart: 3 })
  assert.deepEqual(judged({ arrived: 10, missing, trims: before(true) }), { ...none, lost: 3 })
})

test('the end of a deleted topic may be missing if its deletion was told, a hole in it may not', () => {
  const deletedMs = 1_500
  const gone = event({ code: 'source-topic-deleted' })
  const anew = event({ code: 'topic-recreated', oldId: 'a', newId: 'b' })
  for (const told of [gone, anew])
    assert.deepEqual(judged({ arrived: 6, deletedMs, events: [told] }), { ...none, deletedRecords: 4 })
  assert.deepEqual(judged({ arrived: 6, missing: [2], deletedMs, events: [gone] }).lost, 1)
  assert.deepEqual(judged({ arrived: 6, deletedMs }), { ...none, lost: 4 })
  assert.deepEqual(judged({ arrived: 6, deletedMs, events: [event({ ...anew, oldId: 'x' })] }), { ...none, lost: 4 })
  assert.deepEqual(judged({ arrived: 0, deletedMs }), { ...none, unseen: 10 })
})

test('a number says whose it is, also the largest one', () => {
  const whose = { incarnation: 32_767, partition: 63, sequence: 2 ** 32 - 1 }
  const number = numberOf(whose.incarnation, whose.partition, whose.sequence)
  assert.ok(Number.isSafeInteger(number))
  assert.deepEqual(whoseNumber(number), whose)
})
