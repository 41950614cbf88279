import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readFlow, writeFlow } from '../../../../engine/fleet/decide/documents/flow.ts'
import { readHeld } from '../../../../engine/fleet/decide/documents/held.ts'
import { readWishes } from '../../../../engine/fleet/decide/documents/wishes.ts'
import { stateDepthMax } from '../../../../engine/limits.ts'

const deep = (levels: number, open = '[', close = ']') => open.repeat(levels) + close.repeat(levels)
const corrupt = { code: 'state-corrupt', message: new RegExp(`^/there: at most ${stateDepthMax} levels expected`) }
const flow = (spec: string) =>
  `{"changedBy":{"atMs":1,"by":"me"},"kind":"mirror","origin":"api","overlay":{"paused":{},"skips":{},"topics":{}},"spec":${spec},"v":1}`

test('a document of a hundred thousand brackets is corrupt, wherever they stand, and ends no process', () => {
  const lists = deep(100_000)
  const objects = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`
  for (const nested of [lists, objects]) {
    assert.throws(() => readFlow(flow(nested), '/there'), corrupt)
    assert.throws(() => readHeld(`{"atMs":${nested},"v":1}`, '/there'), corrupt)
    assert.throws(() => readWishes(`{"drains":${nested},"later":${nested},"v":1}`, '/there'), corrupt)
    assert.throws(() => readFlow(nested, '/there'), corrupt)
  }
})

test('what is as deep as people write it is read and written again', () => {
  const text = flow(deep(stateDepthMax - 2))
  assert.equal(writeFlow(readFlow(text, '/there')), text)
  assert.throws(() => readFlow(flow(deep(stateDepthMax + 1)), '/there'), corrupt)
})
