import assert from 'node:assert/strict'
import { test } from 'node:test'
import { partitionState, type StateFacts } from '../../../engine/mirror/decide/partitionState.ts'

const fine: StateFacts = {
  failed: false,
  stream: null,
  lane: null,
  commitSinceMs: null,
  heldSinceMs: null,
  stillSinceMs: null,
}
const trouble = (code: string, sinceMs: number) => ({
  code,
  kafka: null,
  message: code,
  sinceMs,
  tries: 1,
  nextTryMs: 0,
})
const old = trouble('kafka-unreachable', 1_000)
const young = trouble('kafka-unreachable', 9_000)

test('the first of the states that holds is shown, and young trouble is none', () => {
  const state = (more: Partial<StateFacts>) => partitionState({ ...fine, ...more }, 10_000)
  assert.equal(state({}), 'running')
  assert.equal(state({ stream: young, lane: young, commitSinceMs: 9_000 }), 'running')
  assert.equal(state({ stream: old, lane: old }), 'unavailable')
  assert.equal(state({ lane: old }), 'degraded')
  assert.equal(state({ commitSinceMs: 1_000 }), 'degraded')
  assert.equal(state({ stream: trouble('source-missing', 0) }), 'waiting')
  assert.equal(state({ lane: trouble('destination-missing', 0) }), 'waiting')
  assert.equal(state({ failed: true, stream: old }), 'error')
})

test('blocked after a minute of an open transaction, stalled after five without progress, trouble before both', () => {
  const state = (more: Partial<StateFacts>) => partitionState({ ...fine, ...more }, 400_000)
  assert.equal(state({ heldSinceMs: 340_001 }), 'running')
  assert.equal(state({ heldSinceMs: 340_000, stillSinceMs: 0 }), 'blocked')
  assert.equal(state({ stillSinceMs: 100_001 }), 'running')
  assert.equal(state({ stillSinceMs: 100_000 }), 'stalled')
  assert.equal(state({ heldSinceMs: 0, stillSinceMs: 0, lane: trouble('kafka-unreachable', 0) }), 'degraded')
})
