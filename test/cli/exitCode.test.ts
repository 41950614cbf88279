import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exitCodeOf } from '../../cli/exitCode.ts'
import { MillraceError } from '../../engine/errors.ts'

test('what the machine, a broker or the API does not let us do ends with 3', () => {
  for (const code of ['secret-denied', 'store-denied', 'kafka-not-authorized', 'forbidden'] as const)
    assert.equal(exitCodeOf(new MillraceError(code, 'no')), 3, code)
  assert.equal(exitCodeOf(new MillraceError('store-full', 'no')), 1)
})
