import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { request } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { startApi } from '../../engine/api/api.ts'
import type { AuditLine } from '../../engine/api/audit.ts'
import type { ApiParts } from '../../engine/api/parts.ts'
import { goodSpec, served, type tokenRoles, tokens } from './served.ts'

/** `fetch` sets some headers itself. */
function raw(url: string, method: string, headers: Record<string, string>, body?: string) {
  return new Promise<{ status: number; text: string; headers: Record<string, unknown> }>((resolve, reject) => {
    const sent = request(url, { method, headers: { ...headers, connection: 'close' } }, response => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', piece => {
        text += piece
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text, headers: response.headers }))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

test('without tokens only this machine may be listened on', async () => {
  for (const host of ['0.0.0.0', '::', '10.0.0.1', 'example.org', '127.0.0.1.example.org', '']) {
    const parts = { listen: { host, port: 0 }, auth: null } as unknown as ApiParts
    await assert.rejects(startApi(parts), { code: 'config-invalid', hint: /api\.tokens/ }, host)
  }
})

test('an address that cannot be listened on is a fault of the configuration', async t => {
  const api = await served(t)
  const port = Number(new URL(api.url).port)
  await assert.rejects(served(t, { listen: { host: '127.0.0.1', port } }), {
    code: 'config-invalid',
    message: /api\.listen/,
  })
})

test('without tokens a page that had its own name point here is not heard', async t => {
  const api = await served(t, { auth: null })
  const { host } = new URL(api.url)
  const port = host.split(':')[1]
  for (const good of [host, `localhost:${port}`, 'LOCALHOST', '[::1]:80', '127.9.9.9']) {
    assert.equal((await raw(`${api.url}/v1/status`, 'GET', { host: good })).status, 200, good)
  }
  for (const bad of ['evil.example', `evil.example:${port}`, '127.0.0.1.evil.example', 'localhost.evil', '10.0.0.1']) {
    const told = await raw(`${api.url}/v1/status`, 'GET', { host: bad })
    assert.equal(told.status, 403, bad)
    assert.equal(JSON.parse(told.text).code, 'forbidden')
    assert.equal((await raw(`${api.url}/livez`, 'GET', { host: bad })).status, 403, bad)
  }
})

test('with tokens it is heard under any name', async t => {
  const api = await served(t)
  const headers = { host: 'millrace.example', authorization: `Bearer ${tokens.viewer}` }
  assert.equal((await raw(`${api.url}/v1/status`, 'GET', headers)).status, 200)
})

test('a write of a page of another site is refused, and no page may read an answer', async t => {
  const api = await served(t, { auth: null })
  api.putFlow('clicks')
  const { host } = new URL(api.url)
  const pause = (headers: Record<string, string>) =>
    raw(`${api.url}/v1/flows/clicks/pause`, 'POST', { host, ...headers })
  for (const bad of [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'http://localhost:1' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site', origin: `http://${host}` },
  ]) {
    const told = await pause(bad as Record<string, string>)
    assert.equal(told.status, 403, JSON.stringify(bad))
  }
  const simple = await raw(`${api.url}/v1/flows/clicks/pause`, 'POST', { host, 'content-type': 'text/plain' }, '{}')
  assert.equal(simple.status, 415)
  const untyped = await raw(`${api.url}/v1/flows/clicks/pause`, 'POST', { host, 'content-length': '2' }, '{}')
  assert.equal(untyped.status, 415)
  for (const good of [{}, { origin: `http://${host}` }, { 'sec-fetch-site': 'same-origin' }]) {
    const told = await pause(good as Record<string, string>)
    assert.equal(told.status, 202, told.text)
    assert.equal(told.headers['access-control-allow-origin'], undefined)
  }
  const flight = await raw(`${api.url}/v1/flows/clicks/pause`, 'OPTIONS', { host, origin: 'https://evil.example' })
  assert.equal(flight.status, 405)
  assert.equal(flight.headers['access-control-allow-origin'], undefined)
})

test('a token counts as soon as its secret says so, and no longer', async t => {
  let known: ReturnType<typeof tokenRoles.tokens> = tokensOf('first-token')
  const api = await served(t, { auth: { tokens: () => known } })
  assert.equal((await api.ask('GET', '/v1/status', { token: 'first-token' })).status, 200)
  known = tokensOf('second-token')
  assert.equal((await api.ask('GET', '/v1/status', { token: 'first-token' })).status, 401)
  assert.equal((await api.ask('GET', '/v1/status', { token: 'second-token' })).status, 200)
  known = [{ name: 'bad', role: 'admin', sha256: 'not hex' }]
  assert.equal((await api.ask('GET', '/v1/status', { token: '' })).status, 401)
})

function tokensOf(token: string) {
  const sha256 = createHash('sha256').update(token).digest('hex')
  return [{ name: 'one', role: 'viewer' as const, sha256 }]
}

test('each write is one line of the audit, refused ones too, and none has a value or a token', async t => {
  const api = await served(t)
  const body = { kind: 'mirror', spec: goodSpec('secretvalue') }
  await api.ask('PUT', '/v1/flows/clicks', { body, headers: { 'x-request-id': 'my-id.1' } })
  await api.ask('PUT', '/v1/flows/clicks', { body, token: tokens.viewer })
  await api.ask('PUT', '/v1/flows/clicks', { body, token: 'nobody-knows-me' })
  await api.ask('POST', '/v1/flows/clicks/pause', { body: { topics: ['a'] }, headers: { 'if-match': '"12345"' } })
  await api.ask('POST', '/v1/flows/clicks/pause', { body: { topics: ['a'] }, token: tokens.operator })
  await api.ask('POST', '/nowhere')
  await api.ask('GET', '/v1/flows')
  const tag = api.tagOf('/flows/clicks')
  const shown = api.audit.map(one => [one.who, one.role, one.verb, one.route, one.status, one.code, one.after !== null])
  assert.deepEqual(shown, [
    ['the-admin', 'admin', 'PUT', '/v1/flows/{flow}', 201, null, true],
    ['-', '-', 'PUT', '/v1/flows/{flow}', 403, 'forbidden', false],
    ['-', '-', 'PUT', '/v1/flows/{flow}', 401, 'unauthenticated', false],
    ['the-admin', 'admin', 'POST', '/v1/flows/{flow}/pause', 412, 'stale', false],
    ['the-operator', 'operator', 'POST', '/v1/flows/{flow}/pause', 202, null, true],
    ['the-admin', 'admin', 'POST', null, 404, 'not-found', false],
  ])
  assert.equal(api.audit[0]?.requestId, 'my-id.1')
  assert.equal(api.audit[3]?.ifMatch, '"12345"')
  assert.equal(api.audit[4]?.after, tag)
  assert.deepEqual(api.audit[4]?.changed, ['overlay.paused.a'])
  assert.deepEqual(api.audit[0]?.changed.slice(0, 4), ['kind', 'spec.from', 'spec.to', 'spec.topics.include'])
  assert.doesNotMatch(JSON.stringify(api.audit), /secretvalue|token-0123|nobody-knows/)
})

test('whoever hangs up before the answer is in the audit too', { timeout: 10_000 }, async t => {
  const { promise: audited, resolve } = Promise.withResolvers<AuditLine>()
  const api = await served(t, { audit: resolve })
  api.putFlow('clicks')
  api.putHeld('w-1', ['clicks/a/0'])
  const socket = connect(Number(new URL(api.url).port), '127.0.0.1')
  const head = `POST /v1/flows/clicks/pause?wait=60 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${tokens.operator}`
  socket.write(`${head}\r\ncontent-length: 0\r\n\r\n`)
  while (!api.dataOf('/flows/clicks')?.includes('"*":"*"')) await new Promise(done => setImmediate(done))
  socket.destroy()
  const line = await audited
  assert.deepEqual([line.who, line.after], ['the-operator', api.tagOf('/flows/clicks')])
})

test('a bug is told as one, without what it says', async t => {
  const lines: unknown[] = []
  const log = { debug() {}, info() {}, warn() {}, error: (_: string, fields?: unknown) => void lines.push(fields) }
  const known = () => {
    throw new TypeError('hunter2 is no function')
  }
  const api = await served(t, { log, known })
  const told = await api.ask('GET', '/v1/plan')
  assert.deepEqual([told.status, told.json['code']], [500, 'internal'])
  assert.doesNotMatch(told.text, /hunter2/)
  assert.equal(lines.length, 1)
})

test('a verb that a path does not have is 405 with those that it has, a path that is none 404', async t => {
  const api = await served(t)
  for (const method of ['POST', 'PATCH', 'OPTIONS']) {
    const told = await api.ask(method, '/v1/flows/clicks')
    assert.equal(told.status, 405, method)
    assert.equal(told.headers.get('allow'), 'GET, HEAD, PUT, DELETE')
  }
  for (const path of ['/', '/v1', '/v1/flows/', '/v1/flows/a/b', '/v2/flows', '//v1/flows']) {
    assert.equal((await api.ask('GET', path)).status, 404, path)
  }
  assert.equal((await api.ask('GET', '/v1/flows/%zz')).status, 400)
  assert.equal((await api.ask('HEAD', '/v1/flows')).status, 200)
  assert.equal(
    (await api.ask('PUT', '/v1/flows/x', { text: '{}', headers: { 'content-encoding': 'gzip' } })).status,
    415,
  )
  assert.equal((await api.ask('POST', '/v1/rebalance', { text: '[{}]' })).status, 422)
  const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
  assert.equal((await api.ask('POST', '/v1/rebalance', { text: deep(101) })).status, 422)
  assert.ok((await api.ask('POST', '/v1/rebalance', { text: deep(130_000) })).status < 500)
})

test('what is no HTTP, or has headers without end, is answered and cut', async t => {
  const api = await served(t)
  const port = Number(new URL(api.url).port)
  const say = (text: string) =>
    new Promise<string>((resolve, reject) => {
      let told = ''
      const socket = connect(port, '127.0.0.1', () => socket.write(text))
      socket.setEncoding('utf8')
      socket.on('data', piece => {
        told += piece
      })
      socket.on('close', () => resolve(told))
      socket.on('error', reject)
    })
  assert.match(await say('nonsense\r\n\r\n'), /^HTTP\/1\.1 400 [\s\S]*request-invalid/)
  const endless = `GET /v1/status HTTP/1.1\r\nhost: localhost\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`
  assert.match(await say(endless), /^HTTP\/1\.1 431 [\s\S]*application\/problem\+json/)
})
