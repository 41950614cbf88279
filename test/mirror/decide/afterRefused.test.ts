import assert from 'node:assert/strict'
import { test } from 'node:test'
import { afterRefused, type RefusedFacts } from '../../../engine/mirror/decide/afterRefused.ts'

const facts: RefusedFacts = {
  code: 32,
  message: 'Timestamp is out of range',
  offset: 50n,
  records: 10,
  bytes: 3_151,
  limitBytes: null,
  isJoined: false,
  isCompressed: false,
  damagedTries: 0,
  topic: 'orders',
  partition: 3,
}

test('every refusal names partition, source offset and the text of the broker', () => {
  const after = afterRefused(facts)
  assert.ok(typeof after === 'object')
  assert.equal(after.code, 'batch-refused')
  assert.match(
    after.message,
    /orders\/3 at source offset 50: .* 10 records, 3151 bytes: Timestamp is out of range \(32\)/,
  )
  assert.match(String(after.hint), /message\.timestamp\.after\.max\.ms/)
})

test('the number and the size of the batch tell the code', () => {
  const codeOf = (more: Partial<RefusedFacts>) => {
    const after = afterRefused({ ...facts, ...more })
    return typeof after === 'string' ? after : after.code
  }
  assert.equal(codeOf({ code: 10, records: 1 }), 'record-too-large')
  assert.equal(codeOf({ code: 18, records: 1 }), 'record-too-large')
  assert.equal(codeOf({ code: 10 }), 'split')
  // It may fit as it came.
  assert.equal(codeOf({ code: 10, records: 1, isCompressed: true }), 'split')
  assert.equal(codeOf({ code: 18 }), 'split')
  assert.equal(codeOf({ code: 10, isJoined: true }), 'alone')
  assert.equal(codeOf({ code: 32, isJoined: true }), 'alone')
  assert.equal(codeOf({ code: 87 }), 'batch-refused')
  assert.equal(codeOf({ code: 76, message: null }), 'batch-refused')
  assert.equal(codeOf({ code: 100 }), 'destination-recreated')
  assert.equal(codeOf({ code: 2, damagedTries: 2 }), 'again')
  assert.equal(codeOf({ code: 2, damagedTries: 3 }), 'batch-corrupt')
  assert.equal(codeOf({ code: 2, damagedTries: 2, isJoined: true }), 'again')
  assert.equal(codeOf({ code: 2, damagedTries: 3, isJoined: true }), 'alone')
  assert.equal(codeOf({ code: 100, isJoined: true }), 'destination-recreated')
})

test('one record that is too large is named with its offset, its size and the limit', () => {
  const after = afterRefused({ ...facts, code: 10, message: null, records: 1, bytes: 3_151, limitBytes: 1_000 })
  assert.ok(typeof after === 'object')
  assert.match(after.message, /orders\/3 at source offset 50: one record .* 3151 bytes, more than the 1000 /)
  assert.match(String(after.hint), /max\.message\.bytes/)
})
