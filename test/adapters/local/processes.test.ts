import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { localProcesses } from '../../../engine/adapters/local/processes.ts'

/** A child that tells what it is, and stops in order when it is asked to or when its parent has gone. */
const script = `
  console.log('one'); console.error('two')
  const end = code => process.exit(code)
  process.on('SIGTERM', () => end(0))
  process.on('SIGHUP', () => console.log('again'))
  process.on('disconnect', () => end(0))
  process.send({ pid: process.pid, word: process.env.WORD })
`

function children(source = script) {
  return localProcesses(() => ({ args: ['-e', source], env: { WORD: 'hello' } }))
}

test('a child is heard line by line, tells its parent, is asked to stop, and tells how it ended', async () => {
  const lines: string[] = []
  const { promise: told, resolve } = Promise.withResolvers<{ pid: number; word: string }>()
  const again = Promise.withResolvers<void>()
  const line = (text: string) => {
    lines.push(text)
    if (text === 'again') again.resolve()
  }
  const child = children().start('worker', { line, told: message => resolve(message as { pid: number; word: string }) })
  const { pid, word } = await told
  assert.equal(pid, child.pid)
  assert.equal(word, 'hello')
  child.hangUp()
  await again.promise
  child.stop()
  assert.deepEqual(await child.exited, { code: 0, signal: null, error: null })
  assert.deepEqual(lines.toSorted(), ['again', 'one', 'two'])
})

test('a killed child tells the signal, and one that dies by itself its code and its last words', async () => {
  const killed = children().start('worker', { line: () => {}, told: () => killed.kill() })
  assert.deepEqual(await killed.exited, { code: null, signal: 'SIGKILL', error: null })
  const lines: string[] = []
  const died = children(`console.log('a fault'); process.exit(3)`).start('worker', {
    line: text => lines.push(text),
    told: () => {},
  })
  assert.deepEqual(await died.exited, { code: 3, signal: null, error: null })
  assert.deepEqual(lines, ['a fault'])
})

test('children of a parent that is killed stop by themselves', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-processes-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'parent.ts')
  writeFileSync(
    file,
    `import { localProcesses } from ${JSON.stringify(join(import.meta.dirname, '../../../engine/adapters/local/processes.ts'))}
     const script = ${JSON.stringify(script)}
     const said = { line() {}, told: message => console.log(message.pid) }
     localProcesses(() => ({ args: ['-e', script], env: {} })).start('worker', said)
     setInterval(() => {}, 1000)`,
  )
  const parent = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => parent.kill('SIGKILL'))
  const [text] = await once(createInterface({ input: parent.stdout }), 'line')
  const pid = Number(text)
  t.after(() => alive(pid) && process.kill(pid, 'SIGKILL'))
  assert.ok(alive(pid))
  parent.kill('SIGKILL')
  while (alive(pid)) await new Promise(resolve => setImmediate(resolve))
})

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
