import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asideKey } from '../../../engine/flow/contract.ts'
import { planTopics } from '../../../engine/mirror/decide/planTopics.ts'
import { standingFaults } from '../../../engine/mirror/decide/standingFaults.ts'
import { back, ours, specOf, type ViewOf, viewOf } from './viewOf.ts'

function said(of: ViewOf, spec: Record<string, unknown> = {}): unknown[] {
  const events = standingFaults(planTopics(specOf(spec), viewOf(of)))
  return events.map(({ code, topic, state, partitions }) => [code, topic, state, partitions])
}
const three = [{ topic: 't', partitions: 3 }]

test('what is refused, lost or has to be made by hand is one event for each topic, with how many partitions have it', () => {
  assert.deepEqual(said({ source: three, destination: three, ours: [ours('t')], upstream: [back('t')] }), [
    ['mirror-loop', 't', 'refused', 3],
  ])
  const one = [{ topic: 't', partition: 1 }]
  assert.deepEqual(said({ source: three, destination: three, ours: [ours('t', { parts: 3 })], offsets: one }), [
    ['checkpoint-lost', 't', 'error', 2],
  ])
  const byHand = { destination: { create: false } }
  const few = [{ topic: 't', partitions: 1 }]
  assert.deepEqual(said({ source: three, destination: few, ours: [ours('t')] }, byHand), [
    ['destination-missing', 't', 'waiting', 2],
  ])
})

test('what is on its way, and what could not be done and is tried again, is not told here', () => {
  assert.deepEqual(said({ source: three, ours: [ours('t')] }), [])
  assert.deepEqual(said({ source: three, ours: [] }), [])
  const fault = { code: 'kafka-not-authorized', message: 'no right', hint: 'ask for it' } as const
  const aside = new Map([[asideKey('createTopic', 't'), fault]])
  assert.deepEqual(said({ source: three, ours: [ours('t')], aside }), [])
})
