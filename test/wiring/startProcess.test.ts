import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'

const file = join(import.meta.dirname, '../../engine/wiring/startProcess.ts')

/** A process that does `work` with what it begins with; its log lines are told as they come. */
function begun(
  t: TestContext,
  work: string,
): { child: ChildProcess; lines: Record<string, unknown>[]; said(msg: string): Promise<void> } {
  const text = `import { startProcess } from ${JSON.stringify(file)}\n${work}`
  const child = spawn(process.execPath, ['--input-type=module', '-e', text], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  t.after(() => void child.kill('SIGKILL'))
  const lines: Record<string, unknown>[] = []
  const waiting: { msg: string; then: () => void }[] = []
  if (child.stdout) {
    createInterface({ input: child.stdout }).on('line', line => {
      const fields = JSON.parse(line)
      lines.push(fields)
      for (const { msg, then } of waiting) if (msg === fields.msg) then()
    })
  }
  return { child, lines, said: msg => new Promise(then => waiting.push({ msg, then })) }
}

const inOrder = `
const p = startProcess({ svc: 'worker', task: 't1', fd: 1 })
p.redactor.hide('hunter2-hunter2')
p.life.stop.addEventListener('abort', async () => {
  p.log.info('let go of hunter2-hunter2')
  await p.end(0)
  process.exit(0)
})
p.log.info('begun')`

test('a process that is asked to stop says so, lets go, and its last line has its exit code', async t => {
  const { child, lines, said } = begun(t, inOrder)
  await said('begun')
  child.kill('SIGTERM')
  assert.deepEqual(await once(child, 'close'), [0, null])
  assert.deepEqual(
    lines.map(({ svc, task, msg }) => [svc, task, String(msg).replace(/worker .* starts/, 'starts')]),
    ['starts', 'begun', 'stopping', 'let go of [redacted]', 'ends with exit code 0'].map(msg => ['worker', 't1', msg]),
  )
})

test('a process whose parent is gone stops in order', async t => {
  const { child, lines, said } = begun(t, inOrder)
  await said('begun')
  // There is no event 'close' after this.
  const ended = Promise.all([once(child, 'exit'), child.stdout && once(child.stdout, 'close')])
  child.disconnect()
  assert.deepEqual((await ended)[0], [0, null])
  assert.equal(lines.at(-1)?.['exitCode'], 0)
})

test('a process that does not let go after its deadline is left with 70, and says why', async t => {
  const { child, lines, said } = begun(
    t,
    `startProcess({ svc: 'worker', fd: 1, stopTimeoutMs: 5_050 }).log.info('begun')`,
  )
  await said('begun')
  child.kill('SIGTERM')
  assert.deepEqual(await once(child, 'close'), [70, null])
  assert.match(String(lines.at(-1)?.['msg']), /^the stop took too long/)
})

test('a promise that nobody looks at ends the process with 1, and its line comes out', async t => {
  const { child, lines } = begun(t, `startProcess({ svc: 'worker', fd: 1 })\nPromise.reject(new TypeError('ours'))`)
  assert.deepEqual(await once(child, 'close'), [1, null])
  // A block that the kernel was being given at that moment may come after it (L-12).
  assert.equal(lines.filter(line => line['level'] === 'fatal').length, 1)
})
