import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clashesOf } from '../../../engine/mirror/decide/clashesOf.ts'
import { mirrorSpec } from '../../../engine/mirror/spec.ts'

type Words = Record<string, unknown>
const spec = (topics: Words, more: Words = {}) => mirrorSpec.parse({ from: 'east', to: 'west', topics, ...more })
const between = (a: ReturnType<typeof spec>, b: ReturnType<typeof spec>) =>
  clashesOf(
    new Map([
      ['a', a],
      ['b', b],
    ]),
  ).map(({ flow, other, topic }) => `${flow} ${other} ${topic}`)

test('a topic that two flows copy between the same clusters to the same name is told of the later one', () => {
  assert.deepEqual(between(spec({ names: ['t'] }), spec({ names: ['t'] })), ['b a t'])
  assert.deepEqual(between(spec({ names: ['clicks.a'] }), spec({ include: ['clicks\\..*'] })), ['b a clicks.a'])
  assert.deepEqual(between(spec({ include: ['orders'] }), spec({ include: ['ord.*'] })), ['b a orders'])
  assert.deepEqual(between(spec({ include: ['x\\..*'] }), spec({ include: ['y', 'x\\..*'] })), ['b a x\\..*'])
})

test('other clusters, other names, and what one leaves out are no clash', () => {
  assert.deepEqual(between(spec({ names: ['t'] }), spec({ names: ['t'] }, { from: 'west', to: 'east' })), [])
  assert.deepEqual(between(spec({ names: ['t'] }), spec({ names: ['t'] }, { naming: { prefix: 'east.' } })), [])
  assert.deepEqual(
    between(spec({ names: ['clicks.a'] }), spec({ include: ['clicks\\..*'], exclude: ['clicks\\.a'] })),
    [],
  )
  assert.deepEqual(between(spec({ include: ['a.*'] }), spec({ include: ['b.*'] })), [])
})
