import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kinds } from '../../engine/kinds.ts'
import { kindEntries, readFlows, requiresOf, specFaults } from '../../engine/wiring/kinds.ts'

const spec = { from: 'a', to: 'b', topics: { names: ['x'] }, requires: ['gpu'] }

test('every kind has what reads its specs, and what requires tags stands beside them', () => {
  assert.deepEqual(Object.keys(kindEntries), Object.keys(kinds))
  const { mirror } = kindEntries
  const read = mirror?.readSpec(spec) as Record<string, unknown>
  assert.deepEqual([read['from'], read['gaps'], Object.hasOwn(read, 'requires')], ['a', 'continue', false])
  assert.deepEqual(requiresOf('mirror', spec), ['gpu'])
  assert.deepEqual(
    mirror?.clashes?.(
      new Map([
        ['one', read],
        ['two', read],
      ]),
    ),
    [{ flow: 'two', other: 'one', topic: 'x' }],
  )
})

test('a spec that is refused says so alike as an error and as data', () => {
  const bad = { ...spec, gaps: 'stopp', start: 7 }
  assert.throws(() => kindEntries['mirror']?.readSpec(bad), { code: 'config-invalid', message: /start: .*; gaps: / })
  assert.deepEqual(
    specFaults('mirror', bad).map(({ path }) => path),
    ['start', 'gaps'],
  )
  assert.deepEqual(specFaults('mirror', spec), [])
  assert.deepEqual(
    specFaults('mirror', spec, ['a', 'c']).map(({ path }) => path),
    ['to'],
  )
  for (const kind of ['miror', 'constructor', '__proto__'])
    assert.throws(() => specFaults(kind, spec), { code: 'config-invalid', hint: 'this version has: mirror' })
})

test('a file whose flows would copy a topic twice is refused, however it is run', () => {
  const flow = '{ kind: mirror, from: a, to: b, topics: { names: [x] } }'
  const text = `clusters: { a: { brokers: ["a:1"] }, b: { brokers: ["b:1"] } }\nflows: { one: ${flow}, two: ${flow} }\n`
  for (const processes of ['one', 'several'] as const) {
    const read = readFlows(text, processes)
    assert.deepEqual(read.ok ? [] : read.faults.map(({ path }) => path), ['flows.two.topics'])
  }
})
