import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nearest } from '../../engine/flow/nearest.ts'

const table: [word: string, among: string[], found: string | null][] = [
  ['refreshms', ['refresh', 'refreshMs'], 'refreshMs'],
  ['esat', ['west', 'east'], 'east'],
  ['form', ['from', 'to'], 'from'],
  ['gap', ['gaps', 'to'], 'gaps'],
  ['x', ['to', 'from'], null],
  ['a', ['b'], null],
  ['', ['to'], null],
  ['anything', [], null],
  ['compresion', ['checkpoint', 'compression'], 'compression'],
  ['f'.repeat(10_000), ['f'], null],
]
for (const [word, among, found] of table) {
  test(`near '${word.slice(0, 20)}' among ${among.join(', ') || 'nothing'}: ${found ?? 'nothing'}`, () =>
    assert.equal(nearest(word, among), found))
}
