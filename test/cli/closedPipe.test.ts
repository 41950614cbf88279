import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../tidy/tree.ts'

test('whoever has read enough of a help gets no stack', async () => {
  const child = spawn(process.execPath, [join(root, 'cli/start.mjs'), 'mirror', '--help'], { stdio: 'pipe' })
  child.stdout.destroy()
  let said = ''
  child.stderr.on('data', data => {
    said += data
  })
  const [code] = await once(child, 'close')
  assert.equal(said, '')
  assert.equal(code, 0)
})
