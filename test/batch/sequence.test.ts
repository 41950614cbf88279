import assert from 'node:assert/strict'
import { it } from 'node:test'
import { nextSequence } from '../../engine/batch/sequence.ts'

it('KAFKA 1: the sequence after a batch wraps at 2³¹', () => {
  assert.equal(nextSequence(12, 3), 15)
  assert.equal(nextSequence(2147483645, 2), 2147483647)
  assert.equal(nextSequence(2147483647, 1), 0)
  assert.equal(nextSequence(2147483646, 3), 1)
  assert.equal(nextSequence(2147483640, 500), 492)
})
