import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startChild } from '../../rig/child.ts'
import { startGuard } from '../../rig/guard.ts'

test('starting a child reads no start file of the user, who may wait in it', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'millrace-child-'))
  writeFileSync(join(dir, '.bashrc'), `touch ${join(dir, 'was-read')}\n`)
  const home = process.env['HOME']
  process.env['HOME'] = dir
  const guard = await startGuard()
  try {
    const spec = { name: 'hello', command: 'echo', args: ['hello'], ready: /hello/ }
    const child = await startChild(spec, { dir, guard, signal: new AbortController().signal })
    assert.equal(await child.ready, 'hello')
    await child.exited
    await guard.end()
    assert.equal(existsSync(join(dir, 'was-read')), false)
  } finally {
    process.env['HOME'] = home
    rmSync(dir, { recursive: true })
  }
})
