import assert from 'node:assert/strict'
import { test } from 'node:test'
import { notThere } from '../../../engine/mirror/decide/notThere.ts'
import { mirrorOf } from '../mirrorOf.ts'
import { specOf, type ViewOf, viewOf } from './viewOf.ts'

function said(topics: Record<string, unknown>, of: ViewOf): unknown[] {
  return notThere(specOf({ topics }), viewOf(of)).map(({ code, topic, state }) => [code, topic, state])
}
const one = [{ topic: 'orders', partitions: 1 }]

test('a topic that is named and not there is said, with the one that may be meant; one that is there is not', () => {
  assert.deepEqual(said({ names: ['orders'] }, { source: one }), [])
  assert.deepEqual(said({ names: ['oders', 'orders', 'oders'] }, { source: one }), [
    ['source-missing', 'oders', 'waiting'],
  ])
  const [event] = notThere(specOf({ topics: { names: ['oders'] } }), viewOf({ source: one }))
  assert.match(String(event?.hint), /; near it: orders$/)
  // Away for less than three looks: it has its own state until then.
  const view = viewOf({ source: one })
  assert.deepEqual(
    notThere(specOf({ topics: { names: ['orders'] } }), { ...view, source: { ...view.source, topics: [] } }),
    [],
  )
})

test('patterns that select nothing are said, those that select something are not', () => {
  assert.deepEqual(said({ include: ['or.*'] }, { source: one }), [])
  assert.deepEqual(said({ include: ['or.*'] }, {}), [['not-found', undefined, 'waiting']])
})

for (const [name, topics] of [
  ['a topic that is named and missing', { names: ['t'] }],
  ['patterns that select nothing', { include: ['t.*'] }],
] as const) {
  test(`of a flow that runs, ${name}: said once, and copied when it is there`, async () => {
    const mirror = mirrorOf({ brokers: 1, spec: { topics: { ...topics, refreshMs: 1_000 } } })
    const { clock, east, events } = mirror
    east.topic('other')
    mirror.begin()
    await clock.advance(120_000)
    assert.deepEqual(
      events.map(({ code, state }) => [code, state]),
      [['names' in topics ? 'source-missing' : 'not-found', 'waiting']],
    )
    east.topic('t')
    await clock.until(() => [...mirror.units()].length === 1)
    assert.equal(events.length, 1)
    await mirror.stop()
  })
}
