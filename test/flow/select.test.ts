import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MillraceError } from '../../engine/errors.ts'
import { type SelectRule, selection } from '../../engine/flow/select.ts'

const vector = selection(
  {
    include: ['clicks\\..*', 'a.b', '(?i)web-.*'],
    exclude: ['.*\\.tmp', 'clicks\\.x.'],
    names: ['audit', '__special', 'ledger'],
  },
  new Map([
    ['extra', 'in'],
    ['clicks.d.tmp', 'in'],
    ['clicks.old', 'out'],
    ['ledger', 'out'],
  ]),
)

const yes = 'extra clicks.d.tmp clicks.a clicks.xyz clicks. audit __special axb a.b WEB-1'.split(' ')
const no: [rule: SelectRule, topics: string][] = [
  ['none', 'clicks xclicks.a audit2'],
  ['overlay', 'clicks.old ledger'],
  ['exclude', 'clicks.b.tmp clicks.xy'],
  ['reserved', '__other east.heartbeats millrace.offsets.f __consumer_offsets'],
]

test('MIRROR 8: the selection table holds, with the rule that spoke (V-5)', () => {
  for (const topic of yes) assert.equal(vector(topic, false).selected, true, topic)
  for (const [rule, topics] of no) {
    for (const topic of topics.split(' ')) assert.deepEqual(vector(topic, false), { selected: false, rule }, topic)
  }
})

test('an internal topic is reserved, and three of Kafka and our own two are refused even by name', () => {
  const all = selection({ include: ['.*'], exclude: [], names: ['__consumer_offsets', 'millrace.mirror.f', 'inner'] })
  assert.deepEqual(all('some', true), { selected: false, rule: 'reserved' })
  assert.deepEqual(all('inner', true), { selected: true, rule: 'names' })
  assert.deepEqual(all('__consumer_offsets', true), { selected: false, rule: 'reserved' })
  assert.deepEqual(all('millrace.mirror.f', false), { selected: false, rule: 'reserved' })
  for (const topic of ['mm2-offsets.east.internal', 'east.checkpoints.internal', 'heartbeats']) {
    assert.deepEqual(all(topic, false), { selected: false, rule: 'reserved' }, topic)
  }
})

test('a pattern that is not RE2 is refused with the position of the piece at fault', () => {
  const fault = (pattern: string): MillraceError => {
    try {
      selection({ include: ['fine', pattern], exclude: [], names: [] })
    } catch (error) {
      assert.ok(error instanceof MillraceError)
      assert.equal(error.code, 'config-invalid')
      return error
    }
    throw new Error(`${pattern} was taken`)
  }
  assert.match(fault('a(?=b)').message, /topics\.include: 'a\(\?=b\)' .* at position 2 \(M-10\)/)
  assert.equal(fault('a(?=b)').hint, 'lookahead and lookbehind are not in RE2')
  assert.match(fault('a(').message, /missing closing \) at position 2 /)
  assert.match(fault('(a)[(]\\((b(c)').message, /missing closing \) at position 9 /)
  assert.match(fault('ab\\').message, /at position 4 /)
  assert.match(fault('a'.repeat(1001)).message, /1001 characters, at most 1000/)
})

test('more than 200 patterns are refused', () => {
  const patterns = Array.from({ length: 201 }, (_, i) => `t${i}`)
  assert.throws(() => selection({ include: patterns, exclude: [], names: [] }), { code: 'config-invalid' })
})
