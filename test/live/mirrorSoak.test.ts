import assert from 'node:assert/strict'
import { test } from 'node:test'
import { churn } from '../../bench/soak/churn.ts'
import { live } from './rigFor.ts'

test('under kills, bad lines and restarts, with topics made, grown, deleted, made anew and trimmed, nothing is lost that was not told and the order is kept', {
  ...live,
  timeout: 300_000,
}, async t => {
  const result = await churn({ seed: 1, seconds: 25, brokers: 1, kills: true, log: null }, line => t.diagnostic(line))
  const { examples, behind, records, lost, outOfOrder, strange, exitCode } = result
  t.diagnostic(JSON.stringify({ ...result, examples: [] }))
  assert.deepEqual([examples, behind], [[], []])
  assert.deepEqual([lost, outOfOrder, strange, exitCode], [0, 0, 0, 0])
  assert.ok(records > 0)
})
