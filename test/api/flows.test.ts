import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MillraceError } from '../../engine/errors.ts'
import type { Json } from '../../engine/fleet/decide/canonical.ts'
import { noFlowOverlay, readFlow } from '../../engine/fleet/decide/documents/flow.ts'
import { goodSpec, served } from './served.ts'

const body = { kind: 'mirror', spec: goodSpec() }

test('a flow is created, is the same when asked again, and is another one only with If-Match', async t => {
  let nudges = 0
  const api = await served(t, { nudge: () => void nudges++ })
  const made = await api.ask('PUT', '/v1/flows/clicks', { body })
  assert.equal(made.status, 201)
  assert.equal(made.json['created'], true)
  assert.equal(nudges, 1)
  const again = await api.ask('PUT', '/v1/flows/clicks', { body })
  assert.deepEqual(
    [again.status, again.json['unchanged'], again.headers.get('etag')],
    [200, true, made.headers.get('etag')],
  )
  assert.equal(nudges, 1)
  const other = { kind: 'mirror', spec: goodSpec('views') }
  const refused = await api.ask('PUT', '/v1/flows/clicks', { body: other })
  assert.deepEqual([refused.status, refused.json['code']], [409, 'conflict'])
  assert.match(String(refused.json['hint']), /If-Match/)
  assert.equal(refused.headers.get('etag'), made.headers.get('etag'))
  const only = await api.ask('PUT', '/v1/flows/clicks', { body: other, headers: { 'if-none-match': '*' } })
  assert.deepEqual([only.status, only.json['code']], [412, 'stale'])
  const changed = await api.ask('PUT', '/v1/flows/clicks', {
    body: other,
    headers: { 'if-match': String(made.headers.get('etag')) },
  })
  assert.equal(changed.status, 200, changed.text)
  assert.notEqual(changed.headers.get('etag'), made.headers.get('etag'))
  const read = await api.ask('GET', '/v1/flows/clicks')
  assert.equal(read.headers.get('etag'), changed.headers.get('etag'))
  assert.deepEqual(read.json['spec'], other.spec)
})

test('a flow that is not there is not changed by If-Match, and has a near name', async t => {
  const api = await served(t)
  api.putFlow('clicks')
  const other = { kind: 'mirror', spec: goodSpec('views') }
  const absent = await api.ask('PUT', '/v1/flows/click', { body: other, headers: { 'if-match': '*' } })
  assert.equal(absent.status, 412)
  for (const [method, path] of [
    ['GET', '/v1/flows/click'],
    ['DELETE', '/v1/flows/click?force=true'],
    ['POST', '/v1/flows/click/pause'],
    ['GET', '/v1/flows/CLICKS'],
  ] as const) {
    const told = await api.ask(method, path)
    assert.equal(told.status, 404, `${method} ${path} ${told.text}`)
    assert.match(String(told.json['hint']), /did you mean clicks\?/)
  }
})

test('a spec is refused with each of its faults, by path', async t => {
  const api = await served(t)
  const spec = {
    from: 'east',
    topics: { include: ['a(?=b)'], inclde: [] },
    naming: { prefix: 'x', rename: 1 },
    gaps: 'no',
  }
  const told = await api.ask('PUT', '/v1/flows/clicks', { body: { kind: 'mirror', spec } })
  assert.equal(told.status, 422)
  const paths = (told.json['errors'] as { path: string }[]).map(one => one.path)
  for (const path of ['spec.to', 'spec.topics.include[0]', 'spec.topics.inclde', 'spec.gaps']) {
    assert.ok(paths.includes(path), `${path} in ${paths}`)
  }
  const kind = await api.ask('PUT', '/v1/flows/clicks', { body: { kind: 'miror', spec: {} } })
  assert.match(kind.text, /did you mean mirror\?/)
  const half = await api.ask('PUT', '/v1/flows/clicks', { body: { kind: 'mirror', spec: { ...goodSpec(), x: 0.5 } } })
  assert.match(half.text, /a whole number below 2\^53/)
  const name = await api.ask('PUT', '/v1/flows/Clicks', { body })
  assert.deepEqual([name.status, (name.json['errors'] as { path: string }[])[0]?.path], [422, 'flow'])
  const kept = await api.ask('GET', '/v1/flows')
  assert.deepEqual(kept.json['flows'], [])
})

test('what looks like a secret in a body is in no answer', async t => {
  const api = await served(t)
  const spec = { ...goodSpec(), password: 'hunter2hunter2', topics: { include: [], token: 'hunter2hunter2' } }
  for (const given of [
    { kind: 'mirror', spec },
    { kind: 'mirror', spec: goodSpec(), secret: 'hunter2hunter2' },
  ]) {
    const told = await api.ask('PUT', '/v1/flows/clicks', { body: given })
    assert.equal(told.status, 422)
    assert.doesNotMatch(told.text, /hunter2/)
  }
  assert.doesNotMatch(JSON.stringify(api.audit), /hunter2/)
})

test('a flow of the file keeps its spec, and takes an overlay; one of a package too', async t => {
  const api = await served(t)
  for (const [origin, hint] of [
    ['config', /edit the file/],
    ['package:jobs/x', /put a new package/],
  ] as const) {
    const tag = api.putFlow('clicks', { origin })
    const headers = { 'if-match': `"${tag}"` }
    const told = await api.ask('PUT', '/v1/flows/clicks', { body: { kind: 'mirror', spec: goodSpec('v') }, headers })
    assert.deepEqual([told.status, told.json['code']], [409, 'conflict'])
    assert.match(String(told.json['hint']), hint)
    const gone = await api.ask('DELETE', '/v1/flows/clicks?force=true')
    assert.equal(gone.status, 409)
    assert.match(String(gone.json['hint']), hint)
    const overlay = { paused: { '*': '*' } }
    const laid = await api.ask('PUT', '/v1/flows/clicks', { body: { ...body, overlay }, headers })
    assert.equal(laid.status, 200, laid.text)
    assert.equal(readFlow(String(api.dataOf('/flows/clicks')), '').origin, origin)
    assert.equal((await api.ask('POST', '/v1/flows/clicks/pause', { body: { topics: ['a'] } })).status, 202)
  }
})

test('a flow that has left its file is deleted like any other: the file cannot end it any more', async t => {
  const api = await served(t)
  const left = new Map([['file', new Map<string, Json>([['left', new Map()]])]])
  api.putFlow('clicks', { origin: 'config', rest: left, overlay: { ...noFlowOverlay, paused: '*' } })
  const gone = await api.ask('DELETE', '/v1/flows/clicks?force=true')
  assert.equal(gone.status, 202, gone.text)
  assert.equal(readFlow(String(api.dataOf('/flows/clicks')), '').deleting, true)
})

test('a change that a running flow does not take waits for its pause', async t => {
  const api = await served(t)
  const tag = api.putFlow('clicks')
  const renamed = { kind: 'mirror', spec: { ...goodSpec(), naming: { prefix: 'east.' } } }
  const told = await api.ask('PUT', '/v1/flows/clicks', { body: renamed, headers: { 'if-match': `"${tag}"` } })
  assert.deepEqual([told.status, told.json['code']], [409, 'conflict'])
  assert.match(told.text, /M-20/)
  const paused = await api.ask('POST', '/v1/flows/clicks/pause')
  const headers = { 'if-match': String(paused.headers.get('etag')) }
  assert.equal((await api.ask('PUT', '/v1/flows/clicks', { body: renamed, headers })).status, 200)
})

test('two flows that would write one topic to one place are refused, by the name of the other', async t => {
  const api = await served(t)
  await api.ask('PUT', '/v1/flows/clicks', { body })
  const told = await api.ask('PUT', '/v1/flows/again', { body })
  assert.equal(told.status, 422)
  assert.match(told.text, /flow clicks writes it to the same place/)
})

test('clusters that cannot be reached are a warning, a cluster that nobody knows is a fault', async t => {
  let fails: MillraceError = new MillraceError('kafka-unreachable', 'east: no broker answers')
  const preview = () => Promise.reject(fails)
  const api = await served(t, { preview })
  const told = await api.ask('PUT', '/v1/flows/clicks', { body })
  assert.equal(told.status, 201)
  assert.deepEqual(told.json['warnings'], [
    { code: 'kafka-unreachable', message: 'east: no broker answers', hint: null },
  ])
  fails = new MillraceError('config-invalid', "there is no cluster 'oast'")
  assert.equal((await api.ask('PUT', '/v1/flows/other', { body: { ...body, spec: goodSpec('o') } })).status, 422)
})

test('a flow that is deleted says how much of it still runs, and is not changed any more', async t => {
  const api = await served(t)
  const tag = api.putFlow('clicks')
  api.putHeld('w-1', ['clicks/a/0', 'clicks/a/1', 'views/a/0'])
  api.putHeld('w-2', ['clicks/a/7'], { state: 'left' })
  const bare = await api.ask('DELETE', '/v1/flows/clicks')
  assert.deepEqual([bare.status, bare.headers.get('etag')], [428, `"${tag}"`])
  const gone = await api.ask('DELETE', '/v1/flows/clicks', { headers: { 'if-match': `"${tag}"` } })
  assert.deepEqual([gone.status, gone.json['held']], [202, 2])
  assert.equal(readFlow(String(api.dataOf('/flows/clicks')), '').deleting, true)
  const again = await api.ask('DELETE', '/v1/flows/clicks?force=true')
  assert.deepEqual([again.status, again.json['unchanged']], [202, true])
  assert.equal((await api.ask('POST', '/v1/flows/clicks/pause')).status, 409)
  assert.equal((await api.ask('PUT', '/v1/flows/clicks', { body })).status, 409)
})

test('a document that cannot be read is shown as that, hides no other, and is not written over', async t => {
  const api = await served(t)
  api.putFlow('clicks')
  api.put('/flows/broken', '{"kind":"mirror"')
  api.put('/flows/newer', '{"kind":"mirror","v":2}')
  const { json } = await api.ask('GET', '/v1/flows')
  const flows = json['flows'] as { flow: string; unreadable?: { code: string } }[]
  assert.deepEqual(
    flows.map(one => [one.flow, one.unreadable?.code]),
    [
      ['broken', 'state-corrupt'],
      ['clicks', undefined],
      ['newer', 'state-version'],
    ],
  )
  assert.equal((await api.ask('POST', '/v1/flows/newer/pause')).status, 409)
  assert.equal((await api.ask('POST', '/v1/flows/broken/pause')).status, 500)
  assert.equal(api.dataOf('/flows/broken'), '{"kind":"mirror"')
})

test('what a newer version wrote beside what we know stays', async t => {
  const api = await served(t)
  api.putFlow('clicks', { rest: new Map([['later', 7]]), overlay: noFlowOverlay })
  await api.ask('POST', '/v1/flows/clicks/pause')
  assert.match(String(api.dataOf('/flows/clicks')), /"later":7/)
})

test('a document that would be too large is not written', async t => {
  const api = await served(t)
  api.putFlow('clicks')
  const partitions = Array.from({ length: 25_000 }, (_, i) => i * 2).join(',')
  const pause = (topic: string) =>
    api.ask('POST', '/v1/flows/clicks/pause', { body: { partitions: { [topic]: partitions } } })
  assert.equal((await pause('a')).status, 202)
  const told = await pause('b')
  assert.deepEqual([told.status, told.json['code']], [413, 'too-large'], told.text)
  assert.match(told.text, /262144/)
  assert.doesNotMatch(String(api.dataOf('/flows/clicks')), /"b"/)
})

test('a flow says what has happened in it last', async t => {
  const api = await served(t)
  api.putFlow('clicks')
  const { json } = await api.ask('GET', '/v1/flows/clicks')
  const none = { hint: null, partitions: null, worker: null, state: null, offset: null }
  const where = { topic: 'clicks.a', partition: 0, from: 3, to: 13 }
  const event = {
    at: '2023-11-14T22:13:20.000Z',
    code: 'source-gap',
    message: '10 offsets are gone',
    ...none,
    ...where,
  }
  assert.deepEqual(json['events'], [event])
})
