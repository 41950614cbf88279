import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttp } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { machineClock } from '../../engine/adapters/local/clock.ts'
import { apiAnswerMs } from '../../engine/limits.ts'
import { tokens } from '../api/served.ts'
import { askedFleet } from './askedFleet.ts'
import { commandLine } from './commandLine.ts'

async function listening(t: TestContext, take: (socket: Socket) => void): Promise<string> {
  const open = new Set<Socket>()
  const server = createServer(socket => {
    open.add(socket)
    socket.on('error', () => {})
    take(socket)
  })
  t.after(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('where nothing listens it says which address, and how to start a fleet', async () => {
  const { code, out, err } = await commandLine(['status'], { api: 'http://127.0.0.1:1' })
  assert.deepEqual([code, out], [12, ''])
  assert.equal(
    err,
    'api-unreachable: nothing listens at http://127.0.0.1:1\n' +
      '  start a fleet: millrace run -c millrace.yaml; or wait: a controller that was ended is started anew within seconds; or name the API: --api URL, or MILLRACE_API in the environment\n',
  )
  assert.match((await commandLine(['status', '--api', 'http://[::1]:1'])).err, /nothing listens at http:\/\/\[::1\]:1/)
})

test('--api counts before MILLRACE_API, and a path before /v1 is kept', async t => {
  const { url, run } = await askedFleet(t)
  assert.equal((await run(`flows --api ${url}`, { api: 'http://127.0.0.1:1' })).code, 0)
  const paths: string[] = []
  const server = createHttp((request, response) => {
    paths.push(request.url ?? '')
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"flows":[]}')
  })
  t.after(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const { code } = await commandLine(['flows', '--api', `http://localhost:${port}/east/`])
  assert.deepEqual([code, paths], [0, ['/east/v1/flows']])
})

test('what stands there and is no API of a fleet is told', async t => {
  const server = createHttp((_request, response) => response.writeHead(404, { 'content-type': 'text/html' }).end('<p>'))
  t.after(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { code, err } = await commandLine(['flows', 'clicks'], { api: url })
  assert.equal(code, 12)
  assert.match(err, /does not answer as the API of a fleet: 404, text\/html/)
  const other = await listening(t, socket => void socket.end('SSH-2.0-x\r\n'))
  assert.match((await commandLine(['flows'], { api: other })).err, /^api-unreachable: .* does not speak HTTP/)
})

test('no answer in time is contact lost; of a change it is not known whether it is done', async t => {
  const mute = await listening(t, () => {})
  const clock = machineClock()
  const hurried = { ...clock, after: (ms: number, then: () => void) => clock.after(ms >= apiAnswerMs ? 200 : ms, then) }
  const look = await commandLine(['flows'], { api: mute, clock: hurried })
  assert.equal(look.code, 12)
  assert.match(look.err, /^api-unreachable: .* did not answer within 20 s/)
  const change = await commandLine(['drain', 'w-1'], { api: mute, clock: hurried })
  assert.equal(change.code, 12)
  assert.match(change.err, /^outcome-unknown: .* it may be done or not\n {2}look, or repeat the command/)
  const cut = await listening(t, socket => socket.once('data', () => socket.resetAndDestroy()))
  assert.match((await commandLine(['drain', 'w-1'], { api: cut })).err, /^outcome-unknown: .* closed the connection/)
  assert.match((await commandLine(['flows'], { api: cut })).err, /^api-unreachable: .* closed the connection/)
})

test('an address that is none is refused, and one with a password is not repeated', async () => {
  for (const [api, says] of [
    [
      '127.0.0.1:8080',
      /--api: expected http:\/\/HOST:PORT, found '127\.0\.0\.1:8080'\n {2}did you mean http:\/\/127\.0\.0\.1:8080\?/,
    ],
    ['ftp://a', /expected http:\/\/HOST:PORT/],
    ['http://a:1/?x=1', /expected nothing behind the path/],
  ] as const) {
    const { code, err } = await commandLine(['flows', '--api', api])
    assert.equal(code, 2)
    assert.match(err, says)
  }
  const { code, err } = await commandLine(['flows', '--api', 'http://me:hunter2@a:1'])
  assert.equal(code, 2)
  assert.doesNotMatch(err, /hunter2/)
})

test('a token comes from the environment or a file, the file first, and is in nothing that is said', async t => {
  const { run } = await askedFleet(t)
  const folder = mkdtempSync(join(tmpdir(), 'millrace-token-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'token')
  writeFileSync(file, `${tokens.admin}\n`)
  assert.equal((await run(`flows --token-file ${file}`, { role: null })).code, 0)
  writeFileSync(file, tokens.viewer)
  const low = await run(`drain w-1 --token-file ${file}`)
  assert.match(low.err, /the-viewer is viewer/)
  writeFileSync(file, 'a wrong\none-token-canary')
  const odd = await run(`flows --token-file ${file}`)
  assert.deepEqual([odd.code, odd.err.includes('canary')], [2, false])
  writeFileSync(file, 'unknown-token-canary')
  const unknown = await run(`flows --token-file ${file}`)
  assert.equal(unknown.code, 3)
  for (const line of ['flows -o json', 'apply -f - --dry-run', 'drain w-1 --dry-run', 'status -o yaml']) {
    const { out, err } = await run(line, { input: 'x: { kind: mirror, from: a, to: b }' })
    assert.equal(`${out}${err}`.includes(tokens.admin), false, line)
  }
  assert.equal(unknown.err.includes('canary'), false)
  for (const [text, says] of [
    ['', /it is empty/],
    ['x'.repeat(20_000), /is larger than/],
  ] as const) {
    writeFileSync(file, text)
    const { code, err } = await run(`flows --token-file ${file}`)
    assert.equal(code, 2)
    assert.match(err, says)
  }
  rmSync(file)
  assert.match((await run(`flows --token-file ${file}`)).err, /is not there/)
})

test('the command as a process: what it says, and its exit code', async t => {
  const { url } = await askedFleet(t)
  const start = join(import.meta.dirname, '../../cli/start.mjs')
  const ran = async (...args: string[]) => {
    const child = spawn(process.execPath, [start, ...args], {
      env: { ...process.env, MILLRACE_API: url, MILLRACE_TOKEN: tokens.admin },
      stdio: ['ignore', 'pipe', 'pipe'],
      signal: t.signal,
    })
    const [[code], out, err] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)])
    return { code, out, err }
  }
  const [good, missing, wrong] = await Promise.all([
    ran('flows', '-o', 'name'),
    ran('flows', 'clics'),
    ran('flows', '--outptu', 'json'),
  ])
  assert.deepEqual(good, { code: 0, out: 'clicks\npaused\n', err: '' })
  assert.deepEqual([missing.code, missing.out], [4, ''])
  assert.equal(wrong.code, 2)
  assert.match(wrong.err, /Did you mean --output\?/)
})

test('--watch as a process ends with 0 at the first Ctrl-C', async t => {
  const { url } = await askedFleet(t)
  const start = join(import.meta.dirname, '../../cli/start.mjs')
  const child = spawn(process.execPath, [start, 'flows', '--watch'], {
    env: { ...process.env, MILLRACE_API: url, MILLRACE_TOKEN: tokens.admin },
    stdio: ['ignore', 'pipe', 'inherit'],
    signal: t.signal,
  })
  const closed = once(child, 'close')
  await once(child.stdout, 'data')
  child.kill('SIGINT')
  assert.deepEqual(await closed, [0, null])
})
