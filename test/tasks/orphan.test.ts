import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

const main = join(import.meta.dirname, '../../tasks/worker/main.ts')
const config = 'clusters: { a: { brokers: ["localhost:1"] } }\ncoordination: { zookeeper: "localhost:1/fleet" }\n'

test('a worker whose parent is gone before it has begun leaves in order', { timeout: 30_000 }, async t => {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = join(folder, 'fleet.yaml')
  await writeFile(file, config)
  const env = { ...process.env, MILLRACE_CONFIG: file }
  const child = fork(main, [], { env, stdio: ['ignore', 'pipe', 'inherit', 'ipc'] })
  t.after(() => void child.kill('SIGKILL'))
  let said = ''
  child.stdout?.on('data', text => {
    said += text
  })
  // Of a child that was let go so there is no `close`.
  child.disconnect()
  assert.deepEqual(await once(child, 'exit'), [0, null], said)
})
