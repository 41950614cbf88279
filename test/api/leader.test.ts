import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Leader } from '../../engine/api/parts.ts'
import { manualClock } from '../fakes/clock.ts'
import { newFleet, served, tokens } from './served.ts'

/** A controller that leads and one that does not. */
async function two(t: Parameters<typeof served>[0], url?: (leader: string) => string | null) {
  const fleet = newFleet()
  const lead = await served(t, {}, fleet)
  const leader: Leader = { id: 'lead-1', epoch: 7, url: url ? url(lead.url) : lead.url, here: false }
  const other = await served(t, { leader: () => leader, known: () => null }, fleet)
  fleet.putFlow('clicks')
  fleet.putWorker('w-1')
  return { fleet, lead, other, leader }
}

test('what only the leader knows is asked from it by any controller, with the token of who asks', async t => {
  const { lead, other } = await two(t)
  for (const path of ['/v1/plan', '/v1/flows/clicks/partitions/clicks.a/0?why', '/v1/flows/clicks', '/v1/status']) {
    const [told, own] = [await other.ask('GET', path), await lead.ask('GET', path)]
    assert.equal(told.status, 200, told.text)
    const { asOf: _, leadingMs: _l, ...rest } = told.json
    const { asOf: _a, leadingMs: _m, ...wanted } = own.json
    assert.deepEqual(rest, wanted)
    assert.equal(told.headers.get('etag'), own.headers.get('etag'))
  }
  assert.equal((await other.ask('GET', '/v1/plan', { token: 'nobody' })).status, 401)
  const near = await other.ask('GET', '/v1/flows/clicks/partitions/clicks.b/0')
  assert.deepEqual([near.status, near.json['hint']], [404, 'did you mean clicks.a?'])
})

test('while the coordination service is away that is said, and not that somebody takes office', async t => {
  const trouble = { code: 'coordination-unreachable' as const, message: 'no ZooKeeper server serves us', hint: null }
  const api = await served(t, { known: () => null })
  api.putFlow('clicks')
  const path = '/v1/flows/clicks/partitions/clicks.a/0'
  assert.equal((await api.ask('GET', path)).json['code'], 'no-leader')
  const { state } = api.session
  api.session.state = () => ({ ...state(), phase: 'suspended', trouble })
  const { status, json } = await api.ask('GET', path)
  assert.deepEqual([status, json['code'], json['detail']], [503, trouble.code, trouble.message])
})

test('offsets are set by the leader, whoever was asked, and both write it down', async t => {
  const { lead, other } = await two(t)
  await other.ask('POST', '/v1/flows/clicks/pause')
  const body = { parts: { 'clicks.a': '0' }, to: 'latest', dryRun: true }
  const told = await other.ask('PUT', '/v1/flows/clicks/offsets', { body, token: tokens.operator })
  assert.equal(told.status, 200, told.text)
  assert.deepEqual(
    lead.asked.map(one => one.to),
    ['latest'],
  )
  assert.deepEqual(
    [...lead.audit, ...other.audit].filter(one => one.verb === 'PUT').map(one => [one.who, one.status]),
    [
      ['the-operator', 200],
      ['the-operator', 200],
    ],
  )
  const stale = await other.ask('PUT', '/v1/flows/clicks/offsets', { body, headers: { 'if-match': '"12345"' } })
  assert.equal(stale.status, 412)
  assert.match(String(stale.headers.get('etag')), /^"\d+"$/)
})

test('what anybody may write is written by who was asked', async t => {
  const { fleet, other, lead } = await two(t)
  assert.equal((await other.ask('PUT', '/v1/flows/clicks/topics/a')).status, 201)
  assert.equal((await other.ask('POST', '/v1/workers/w-1/drain')).status, 202)
  assert.equal(lead.audit.length, 0)
  assert.match(String(fleet.dataOf('/wishes')), /"w-1"/)
})

test('without a leader the documents speak, and what they do not know is 503', async t => {
  const api = await served(t, { leader: () => null, known: () => null })
  api.putFlow('clicks')
  api.putWorker('w-1')
  api.putHeld('w-1', ['clicks/a/0'])
  for (const path of ['/v1/plan', '/v1/flows/clicks/partitions/clicks.a/0']) {
    const told = await api.ask('GET', path)
    assert.deepEqual([told.status, told.json['code'], told.headers.get('retry-after')], [503, 'no-leader', '1'], path)
  }
  const flow = await api.ask('GET', '/v1/flows/clicks')
  assert.deepEqual([flow.status, flow.json['leader'], flow.json['wanted']], [200, null, null])
  const worker = await api.ask('GET', '/v1/workers/w-1')
  assert.deepEqual([worker.status, worker.json['held'], worker.json['state']], [200, 1, null])
})

test('two controllers that take each other for the leader do not ask each other for ever', async t => {
  const leaders: Leader[] = [
    { id: 'b', epoch: 7, url: null, here: false },
    { id: 'a', epoch: 7, url: null, here: false },
  ]
  const fleet = newFleet()
  let hops = 0
  const counted: typeof fetch = (...args) => {
    hops++
    return fetch(...args)
  }
  const more = { known: () => null, fetch: counted }
  const [one, other] = [
    await served(t, { ...more, leader: () => leaders[0] ?? null }, fleet),
    await served(t, { ...more, leader: () => leaders[1] ?? null }, fleet),
  ]
  Object.assign(leaders[0] ?? {}, { url: other.url })
  Object.assign(leaders[1] ?? {}, { url: one.url })
  const told = await one.ask('GET', '/v1/plan')
  assert.deepEqual([told.status, told.json['code']], [503, 'no-leader'])
  assert.equal(hops, 1)
  const status = await one.ask('GET', '/v1/status')
  assert.deepEqual([status.status, status.json['leads']], [200, false])
  assert.equal(hops, 2)
})

test('a request line that names a host of its own sends nobody the token', async t => {
  const seen: string[] = []
  const spy: typeof fetch = async url => {
    seen.push(String(url))
    return new Response('{}', { headers: { 'content-type': 'application/json' } })
  }
  const leader = { id: 'l', epoch: 7, url: 'http://127.0.0.1:1', here: false }
  const api = await served(t, { leader: () => leader, known: () => null, fetch: spy })
  const { request } = await import('node:http')
  const { hostname, port } = new URL(api.url)
  await new Promise(resolve => {
    const headers = { authorization: `Bearer ${tokens.admin}` }
    const sent = request({ hostname, port, path: 'http://evil.example/v1/plan?x=http://evil', headers }, resolve)
    sent.end()
  })
  for (const url of seen) assert.match(url, /^http:\/\/127\.0\.0\.1:1\/v1\/plan/)
  assert.equal(seen.length, 1)
})

test('a leader that does not answer in 2 s is none', async t => {
  const clock = manualClock()
  const leader = { id: 'l', epoch: 7, url: 'http://127.0.0.1:1', here: false }
  const { promise: asked, resolve } = Promise.withResolvers<void>()
  const never: typeof fetch = (_url, how) => {
    resolve()
    return new Promise((_, reject) => how?.signal?.addEventListener('abort', () => reject(new Error('cut'))))
  }
  const api = await served(t, { leader: () => leader, known: () => null, fetch: never, clock })
  const told = api.ask('GET', '/v1/plan')
  await asked
  await clock.advance(1_999)
  await clock.advance(1)
  assert.deepEqual([(await told).status, (await told).json['code']], [503, 'no-leader'])
})

test('whether a leader that went away has set offsets is not known', async t => {
  const { other } = await two(t, () => 'http://127.0.0.1:1')
  const body = { parts: '*', to: 'latest' }
  const told = await other.ask('PUT', '/v1/flows/clicks/offsets', { body })
  assert.deepEqual([told.status, told.json['code']], [503, 'outcome-unknown'])
  const read = await other.ask('GET', '/v1/status')
  assert.deepEqual([read.status, read.json['leads']], [200, false])
})

test('a leader that is just taking office says so', async t => {
  const api = await served(t, { known: () => null })
  api.putFlow('clicks')
  assert.equal((await api.ask('GET', '/v1/plan')).json['code'], 'no-leader')
  assert.equal((await api.ask('GET', '/v1/flows/clicks')).status, 200)
})
