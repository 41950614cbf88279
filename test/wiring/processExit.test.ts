import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type FaultCode, MillraceError } from '../../engine/errors.ts'
import { processExitOf } from '../../engine/wiring/processExit.ts'

const ended = (code: FaultCode | null, aborted = false) =>
  processExitOf(code === null ? null : new MillraceError(code, 'why'), { aborted })

test('a process ends with 0 in order, 70 after a stop that took too long, 78 where a start anew does not help', () => {
  assert.deepEqual([ended(null), ended(null, true)], [0, 70])
  assert.deepEqual(
    [ended('config-invalid'), ended('coordination-required'), ended('config-invalid', true)],
    [78, 78, 78],
  )
})

test('a process ends with 75 when what it needs was not reached, and with 1 for any other fault', () => {
  assert.deepEqual([ended('coordination-unreachable'), ended('kafka-unreachable')], [75, 75])
  assert.deepEqual([ended('state-corrupt'), processExitOf(new TypeError('ours'), { aborted: false })], [1, 1])
})
