import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noTopic } from '../../engine/flow/noTopic.ts'

const names = ['clicks.a', 'clicks.b', 'clicks.tmp', 'clicks.x', 'orders', '__consumer_offsets']
const topics = names.map(topic => ({ topic, internal: topic.startsWith('__') }))
const hintOf = (...include: string[]) => String(noTopic(include, topics).hint)

test('patterns that select nothing are named, with the code of what was not found', () => {
  const { code, message } = noTopic(['clicks', 'web'], topics)
  assert.equal(code, 'not-found')
  assert.equal(message, "no topic of the source is selected by 'clicks', 'web'")
})

test('names that match in a part or with other capitals are given, three at most', () => {
  assert.match(hintOf('clicks'), /the whole name .*; near it: clicks\.a, clicks\.b, clicks\.tmp and 1 more$/)
  assert.match(hintOf('ORDERS'), /capitals told apart; near it: orders$/)
  assert.match(hintOf('offsets'), /capitals told apart$/)
})

test('a name that is spelt nearly so is given, one that is not is not', () => {
  assert.match(hintOf('oders'), /near it: orders$/)
  assert.match(hintOf('orderz'), /near it: orders$/)
  assert.match(hintOf('payments'), /capitals told apart$/)
  assert.match(hintOf('x*'), /capitals told apart$/)
})

test('names that match and were left out are said to be so', () => {
  assert.equal(hintOf('orders|clicks\\.tmp'), 'clicks.tmp, orders: matched, and excluded or reserved')
})
