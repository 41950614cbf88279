import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { rememberedProcess } from './rememberedProcess.ts'

const folder = mkdtempSync(join(tmpdir(), 'millrace-killed-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** Runs until it has told so many answered changes and some more time has passed, then kills it. */
async function runAndKill(lines: number): Promise<{ epoch: number; found: number; answered: number }> {
  const child = spawn(process.execPath, [rememberedProcess, folder], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'close')
  const told: number[][] = []
  const input = createInterface({ input: child.stdout })
  const read = once(input, 'close')
  try {
    input.on('line', line => told.push(line.split(' ').map(Number)))
    while (told.length < lines) {
      await Promise.race([
        once(input, 'line'),
        ended.then(() => {
          throw new Error('it ended by itself')
        }),
      ])
    }
    // Any moment of a change will do; chance finds the odd ones.
    await wait(Math.random() * 20)
  } finally {
    child.kill('SIGKILL')
    await ended
    await read
  }
  return { epoch: told[0]?.[0] ?? 0, found: told[0]?.[1] ?? 0, answered: told.at(-1)?.[1] ?? 0 }
}

test('C-66: killed at any moment, the next start finds all that was answered, and the epoch is higher', async () => {
  let before = { epoch: 0, answered: 0 }
  for (let round = 0; round < 8; round++) {
    const run = await runAndKill(4)
    assert.ok(run.epoch > before.epoch, `${run.epoch} after ${before.epoch}`)
    // One more may be there: it was stored, and nobody was told any more.
    const more = run.found - before.answered
    assert.ok(more === 0 || more === 1, `found ${run.found}, answered ${before.answered}`)
    assert.ok(run.answered > run.found)
    before = run
  }
  assert.ok(readdirSync(join(folder, 'fleet/history')).length <= 10)
})
