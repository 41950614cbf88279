import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { FlowEvent } from '../../engine/flow/event.ts'
import { startRedactor } from '../../engine/flow/redactor.ts'
import { secretLookMs } from '../../engine/limits.ts'
import { openApiTokens } from '../../engine/wiring/apiTokens.ts'
import { type ManualClock, manualClock } from '../fakes/clock.ts'

const tokenOf = (name: string) => ({ name, role: 'admin', sha256: createHash('sha256').update(name).digest('hex') })

test('tokens of the API are read from the folder of the file, and a change is in force without a start anew', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-tokens-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const write = (text: string) => writeFileSync(join(folder, 'tokens.json'), text)
  const clock = manualClock()
  const told: FlowEvent[] = []
  const parts = { clock, redactor: startRedactor(), tell: (event: FlowEvent) => void told.push(event) }
  const open = () => openApiTokens({ file: 'tokens.json' }, join(folder, 'millrace.yaml'), parts)
  await assert.rejects(open(), { code: 'secret-missing' })
  write('{"tokens":[]}')
  await assert.rejects(open(), { code: 'secret-invalid', message: /tokens: expected a list of at least one token/ })

  write(JSON.stringify({ tokens: [tokenOf('one'), tokenOf('two')] }))
  const tokens = await open()
  t.after(() => tokens.close())
  assert.deepEqual(
    tokens.tokens().map(({ name }) => name),
    ['one', 'two'],
  )
  write(JSON.stringify({ tokens: [tokenOf('two')] }))
  await until(clock, () => tokens.tokens().length === 1)
  write('{"tokens":[{"name":"three"}]}')
  await until(clock, () => told.length === 1)
  assert.match(String(told[0]?.message), /^api\.tokens: .*; the value before it stays in use$/)
  assert.deepEqual(
    tokens.tokens().map(({ name }) => name),
    ['two'],
  )
})

/** Files are really read: their turns are waited for, the time between is the clock's. */
async function until(clock: ManualClock, holds: () => boolean): Promise<void> {
  for (let turns = 0; !holds(); turns++) {
    if (turns % 100 === 0) await clock.advance(secretLookMs)
    await turn()
  }
}
