import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chaos, chaosPlan } from '../../bench/chaos/chaos.ts'
import { chaosTable } from '../../bench/chaos/table.ts'
import { live } from './rigFor.ts'

test('COORDINATION 24: under one fault after another nothing is lost, nothing is out of order, and nobody dies but the killed ones', {
  ...live,
  timeout: 240_000,
}, async t => {
  const alive = setInterval(() => {}, 1_000)
  t.after(() => clearInterval(alive))
  const result = await chaos({ ...chaosPlan, seed: 14, seconds: 40, log: null, stop: t.signal }, line =>
    t.diagnostic(line),
  )
  for (const line of chaosTable(result).split('\n')) t.diagnostic(line)
  assert.deepEqual(result.wrong, [])
  assert.deepEqual([result.lost, result.outOfOrder], [0, 0])
  assert.ok(result.struck.length > 0 && result.records > 0)
})
