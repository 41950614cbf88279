import '../../properties.ts'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { canonical } from '../../../engine/fleet/decide/canonical.ts'
import { chunkUnits, namesOf, unitsFrom, unitsJson, unitsOf } from '../../../engine/fleet/decide/units.ts'

test('COORDINATION 1: an assignment is the same bytes both ways, whatever its topics are called', () => {
  const text =
    '{"chunks":0,"epoch":7,"flows":{"clicks":{"10":"3","9":"0-1","__proto__":"0","clicks.web":"0-31,40"}},"generation":42,"v":1}'
  const read = JSON.parse(text)
  const units = unitsFrom(read.flows, 'flows')
  assert.equal(canonical({ v: 1, generation: 42, epoch: 7, chunks: 0, flows: unitsJson(units) }), text)
  assert.deepEqual(namesOf(units).slice(-4), [
    'clicks/clicks.web/29',
    'clicks/clicks.web/30',
    'clicks/clicks.web/31',
    'clicks/clicks.web/40',
  ])
  const odd = unitsOf(['f/constructor/1', 'f/toString/0', 'f/__proto__/2', 'f/constructor/0'])
  assert.equal(canonical(unitsJson(odd)), '{"f":{"__proto__":"2","constructor":"0-1","toString":"0"}}')
  assert.equal(Object.keys(Object.prototype).length, 0)
})

test('what is no document is refused with its place', () => {
  for (const flows of [null, [], 'x', { f: [] }, { f: { t: 3 } }, { f: { t: '1,1' } }]) {
    assert.throws(() => unitsFrom(flows, 'flows'), { code: 'state-corrupt' })
  }
  assert.throws(() => canonical(1.5), RangeError)
})

test('a few bytes that mean more units than there is memory for are refused, in one part or in many', () => {
  for (const text of ['0-2147483647', '0-999999,1000001'])
    assert.throws(() => unitsFrom({ f: { t: text } }, 'flows'), { code: 'state-corrupt', message: /1000000 numbers/ })
  const parts = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`t${n}`, '0-99999']))
  assert.throws(() => unitsFrom({ f: parts }, 'flows'), { code: 'state-corrupt', message: /1000000 numbers/ })
  assert.equal(
    unitsFrom({ f: { t: '0-999999' } }, 'flows')
      .get('f')
      ?.get('t')?.length,
    1_000_000,
  )
})

test('what no unit can be named by is no flow and no part', () => {
  for (const flows of [{ 'f/g': { t: '0' } }, { '': { t: '0' } }, { f: { 'a/b': '0' } }, { f: { '': '0' } }])
    assert.throws(() => unitsFrom(flows, 'flows'), { code: 'state-corrupt', message: /^flows/ })
})

test('COORDINATION 3: twenty thousand topics of sixty characters make chunks within the limit that hold every unit once', () => {
  const names = Array.from({ length: 20_000 }, (_, n) => `flow/${String(n).padStart(60, 't')}/0`)
  const chunks = chunkUnits(unitsOf(names), 262_144 - 64)
  assert.equal(chunks.length, 6)
  for (const chunk of chunks) assert.ok(canonical({ flows: unitsJson(chunk), v: 1 }).length <= 262_144)
  assert.deepEqual(chunks.flatMap(namesOf).sort(), names.toSorted())
})

test('chunks of any size hold every unit once', () => {
  const unit = fc.tuple(fc.constantFrom('a', 'b'), fc.constantFrom('t', 'u', 'a.long.name'), fc.nat(300))
  fc.assert(
    fc.property(fc.array(unit, { maxLength: 80 }), fc.integer({ min: 30, max: 200 }), (units, bytesMax) => {
      const names = [...new Set(units.map(one => one.join('/')))]
      const chunks = chunkUnits(unitsOf(names), bytesMax)
      assert.deepEqual(chunks.flatMap(namesOf).sort(), names.toSorted())
    }),
  )
})
