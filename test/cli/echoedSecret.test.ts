import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { Writer } from '../../engine/adapters/kafka/wire.ts'

const keys = { handshake: 17, apiVersions: 18, authenticate: 36 }

/** Reads any login and refuses it, and repeats in its text what it was told. */
function bodyOf(question: Buffer): Writer {
  const key = question.readInt16BE(4)
  const w = new Writer().i32(question.readInt32BE(8))
  if (key === keys.apiVersions) {
    w.i16(0).i32(3)
    for (const one of Object.values(keys)) w.i16(one).i16(0).i16(1)
    return w.i32(0)
  }
  if (key === keys.handshake) return oldText(w.i16(0).i32(1), Buffer.from('PLAIN'))
  const told = Buffer.from(`refused: ${question.subarray(question.indexOf(0x70)).toString('latin1')}`)
  return oldText(w.i16(58), told).i32(0).i32(0).i32(0)
}

/** As the versions before the flexible ones write text. */
function oldText(w: Writer, bytes: Buffer): Writer {
  w.i16(bytes.length)
  for (const byte of bytes) w.i8(byte)
  return w
}

test('K-15: a broker that repeats the password does not bring it into what the command says', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-echo-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const server = createServer(socket => {
    socket.on('error', () => {})
    socket.on('data', question => {
      const body = Buffer.concat(bodyOf(question).done())
      const length = Buffer.alloc(4)
      length.writeInt32BE(body.length)
      socket.write(Buffer.concat([length, body]))
    })
  })
  t.after(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const at = server.address()
  const port = typeof at === 'object' && at !== null ? at.port : 0
  const config = join(folder, 'east.yaml')
  writeFileSync(config, JSON.stringify({ brokers: [`127.0.0.1:${port}`], security: { mechanism: 'plain', env: 'P' } }))
  const value = 'pw-canary-echoed'
  const of = ['mirror', '--source-config', config, '--to', `127.0.0.1:${port}`, '--topics', 'a']
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../cli/start.mjs'), ...of], {
    env: { ...process.env, P: JSON.stringify({ username: 'u', password: value }) },
    stdio: ['ignore', 'pipe', 'pipe'],
    signal: t.signal,
  })
  const [[code], out, err] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)])
  assert.equal(code, 3, `${out}\n${err}`)
  assert.match(out, /refused: .*\[redacted\]/)
  assert.equal(`${out}${err}`.includes(value), false)
})
