import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readWishes } from '../../engine/fleet/decide/documents/wishes.ts'
import { readExport } from '../../engine/fleet/decide/export.ts'
import { goodSpec, knownOf, type Served, served } from './served.ts'

const wishes = (api: Served) => readWishes(String(api.dataOf('/wishes')), '')

test('a drain is a wish: once, again, and taken back', async t => {
  const api = await served(t)
  api.putWorker('w-1')
  api.putWorker('w-2')
  const first = await api.ask('POST', '/v1/workers/w-1/drain')
  assert.deepEqual([first.status, (first.json['drain'] as { by: string }).by], [202, 'api:the-admin'])
  const again = await api.ask('POST', '/v1/workers/w-1/drain')
  assert.deepEqual([again.status, again.json['unchanged']], [200, true])
  assert.deepEqual([...wishes(api).drains.keys()], ['w-1'])
  const shown = await api.ask('GET', '/v1/workers/w-1')
  assert.equal((shown.json['drain'] as { reason: string }).reason, 'api')
  assert.equal((await api.ask('POST', '/v1/workers/w-1/undrain')).status, 202)
  assert.equal((await api.ask('POST', '/v1/workers/w-1/undrain')).status, 200)
  const none = await api.ask('POST', '/v1/workers/w1/drain')
  assert.deepEqual([none.status, none.json['hint']], [404, 'did you mean w-1?'])
  assert.equal((await api.ask('GET', '/v1/workers/somebody')).json['hint'], 'there is: w-1, w-2')
})

test('a drain of the last that may take some units names them', async t => {
  const api = await served(t)
  api.putWorker('w-1', { tags: ['gpu'] })
  api.putWorker('w-2')
  api.putFlow('clicks', { spec: { ...goodSpec(), requires: ['gpu'] } })
  api.putFlow('views', { spec: goodSpec('v') })
  api.putAssignment('w-1', ['clicks/a/0', 'clicks/a/1', 'views/v/0'])
  const told = await api.ask('POST', '/v1/workers/w-1/drain')
  assert.deepEqual([told.status, told.json['blocked']], [202, ['clicks/a/0', 'clicks/a/1']])
})

test('a move is refused to a worker that is not there, or that may not take it', async t => {
  const api = await served(t)
  api.putFlow('clicks', { spec: { ...goodSpec(), requires: ['gpu'] } })
  api.putWorker('w-1')
  api.putWorker('w-2', { tags: ['gpu'], state: 'stopping' })
  api.putWorker('w-3', { tags: ['gpu', 'x'] })
  const move = (to: string | null) => api.ask('POST', '/v1/flows/clicks/partitions/clicks.a/0/move', { body: { to } })
  for (const [to, says] of [
    ['w3', /did you mean w-3\?/],
    ['w-1', /it has not the tags gpu/],
    ['w-2', /it is stopping/],
    ['../flows', /the id of a worker/],
  ] as const) {
    const told = await move(to)
    assert.equal(told.status, 422, to)
    assert.match(told.text, says)
  }
  assert.equal((await move('w-3')).status, 202)
  assert.deepEqual(wishes(api).moves, new Map([['clicks/clicks.a/0', 'w-3']]))
  assert.equal((await move('w-3')).json['unchanged'], true)
  await move(null)
  assert.deepEqual(wishes(api).moves, new Map())
  await api.ask('POST', '/v1/workers/w-3/drain')
  assert.match((await move('w-3')).text, /it is drained/)
})

test('balancing is a level with a tag, also before anybody wished anything', async t => {
  const api = await served(t)
  const none = await api.ask('GET', '/v1/balancing')
  assert.deepEqual([none.json['auto'], none.headers.get('etag')], [true, '"none"'])
  const same = await api.ask('PUT', '/v1/balancing', { body: { auto: true } })
  assert.deepEqual([same.status, same.json['unchanged']], [200, true])
  const headers = { 'if-match': '"none"' }
  const off = await api.ask('PUT', '/v1/balancing', { body: { auto: false }, headers })
  assert.deepEqual([off.status, off.headers.get('etag')], [200, `"${api.tagOf('/wishes')}"`])
  assert.equal((await api.ask('PUT', '/v1/balancing', { body: { auto: true }, headers })).status, 412)
  await api.ask('POST', '/v1/rebalance')
  assert.equal((await api.ask('POST', '/v1/rebalance')).json['rebalance'], 2)
  assert.equal(wishes(api).auto, false)
})

test('wishes that cannot be read hide nothing else: the last good ones are shown, and none is written over them', async t => {
  const api = await served(t)
  await api.ask('PUT', '/v1/balancing', { body: { auto: false } })
  assert.equal((await api.ask('GET', '/v1/status')).json['auto'], false)
  const path = '/wishes'
  const rubbish = '{"v":2}'
  api.put(path, rubbish)
  const { status, json } = await api.ask('GET', '/v1/status')
  const { code } = json['wishesUnreadable'] as { code: string }
  assert.deepEqual([status, json['auto'], code], [200, false, 'state-version'])
  assert.equal((await api.ask('GET', '/v1/workers')).status, 200)
  assert.equal((await api.ask('PUT', '/v1/balancing', { body: { auto: true } })).json['code'], 'state-version')
  assert.equal(api.dataOf(path), rubbish)
})

test('a plan tells whether balancing is off or only not due now', async t => {
  const known = { ...knownOf(), plan: () => ({ ...knownOf().plan(), give: [], why: 'off' as const }) }
  const api = await served(t, { known: () => known })
  assert.equal((await api.ask('GET', '/v1/plan')).json['why'], 'not-due')
  await api.ask('PUT', '/v1/balancing', { body: { auto: false } })
  assert.equal((await api.ask('GET', '/v1/plan')).json['why'], 'off')
})

test('in one process drain, move and balance mean nothing, and say so (C-96)', async t => {
  const api = await served(t, { mode: 'solo', leader: () => null, keepsChanges: false })
  api.putFlow('clicks')
  for (const [method, path, body] of [
    ['POST', '/v1/workers/w-1/drain', undefined],
    ['POST', '/v1/workers/w-1/undrain', undefined],
    ['POST', '/v1/flows/clicks/partitions/clicks.a/0/move', { to: 'w-1' }],
    ['POST', '/v1/rebalance', undefined],
    ['PUT', '/v1/balancing', { auto: false }],
    ['GET', '/v1/plan', undefined],
  ] as const) {
    const told = await api.ask(method, path, body === undefined ? {} : { body })
    assert.deepEqual([told.status, told.json['code']], [409, 'conflict'], path)
  }
  assert.equal(api.dataOf('/wishes'), null)
  assert.equal((await api.ask('POST', '/v1/flows/clicks/pause')).status, 202)
  assert.equal((await api.ask('GET', '/v1/status')).json['keepsChanges'], false)
})

test('the export is the documents as they are, and reads back', async t => {
  const api = await served(t)
  api.putFlow('clicks')
  await api.ask('PUT', '/v1/flows/clicks/topics/__proto__')
  await api.ask('POST', '/v1/rebalance')
  const told = await api.ask('GET', '/v1/state')
  const state = readExport(told.text, 'state')
  assert.equal(state.epoch, 7)
  assert.match(told.text, /"topics":\{"__proto__":"in"\}/)
  assert.equal(
    JSON.stringify(JSON.parse(told.text).flows.clicks),
    JSON.stringify(JSON.parse(String(api.dataOf('/flows/clicks')))),
  )
})

test('odd names are names like any other, in paths and in bodies', async t => {
  const api = await served(t)
  const odd = ['__proto__', 'constructor', 'toString', '10', '9', 'hasOwnProperty', '...']
  const before = Object.getOwnPropertyNames(Object.prototype)
  api.putFlow('clicks')
  api.putFlow('constructor', { spec: goodSpec('c') })
  for (const name of odd) {
    assert.equal((await api.ask('PUT', `/v1/flows/clicks/topics/${name}`)).status, 201, name)
    const skip = await api.ask('POST', `/v1/flows/clicks/partitions/${name}/0/skip`, {
      body: { offset: 1, records: 1 },
    })
    assert.equal(skip.status, 202, name)
    const pause = await api.ask('POST', '/v1/flows/clicks/pause', {
      text: `{"partitions":{${JSON.stringify(name)}:"0-3"}}`,
    })
    assert.equal(pause.status, 202, pause.text)
  }
  const { text } = await api.ask('GET', '/v1/flows/clicks')
  for (const name of odd) {
    assert.ok(text.includes(`${JSON.stringify(name)}:"in"`), name)
    assert.ok(text.includes(`${JSON.stringify(name)}:"0-3"`), name)
  }
  const topics = await api.ask('GET', '/v1/flows/clicks/topics/__proto__')
  assert.deepEqual([topics.status, topics.json['overlay']], [200, 'in'])
  for (const path of ['/v1/flows/__proto__', '/v1/workers/__proto__', '/v1/flows/toString', '/v1/workers/..%2Fflows']) {
    assert.equal((await api.ask('GET', path)).status, 404, path)
  }
  assert.equal((await api.ask('GET', '/v1/flows/constructor')).status, 200)
  assert.equal((await api.ask('POST', '/v1/workers/__proto__/drain')).status, 404)
  assert.equal((await api.ask('GET', '/v1/status?__proto__=1')).status, 422)
  for (const body of [
    '{"__proto__":{"auto":true}}',
    '{"auto":true,"__proto__":{"x":1}}',
    '{"auto":true,"constructor":1}',
  ]) {
    const told = await api.ask('PUT', '/v1/balancing', { text: body })
    assert.equal(told.status, 422, body)
  }
  const kind = await api.ask('PUT', '/v1/flows/a', { text: '{"kind":"__proto__","spec":{}}' })
  assert.equal(kind.status, 422)
  const spec = JSON.stringify(goodSpec('q')).replace('{', '{"__proto__":{"gaps":"stop"},')
  const told = await api.ask('PUT', '/v1/flows/a', { text: `{"kind":"mirror","spec":${spec}}` })
  assert.equal(told.status, 422)
  assert.match(told.text, /spec\.__proto__/)
  assert.deepEqual(Object.getOwnPropertyNames(Object.prototype), before)
})

test('an overlay of a PUT is taken whole, and a wrong one is refused whole', async t => {
  const api = await served(t)
  const overlay = '{"topics":{"__proto__":"out"},"paused":{"a":"0-3","b":"*"},"skips":{"a":{"3":[9,1]}}}'
  const body = `{"kind":"mirror","spec":${JSON.stringify(goodSpec())},"overlay":`
  assert.equal((await api.ask('PUT', '/v1/flows/clicks', { text: `${body}${overlay}}` })).status, 201)
  assert.match(
    String(api.dataOf('/flows/clicks')),
    /"overlay":\{"paused":\{"a":"0-3","b":"\*"\},"skips":\{"a":\{"3":\[9,1\]\}\},"topics":\{"__proto__":"out"\}\}/,
  )
  for (const [wrong, path] of [
    ['{"paused":{"*":"0-3"}}', 'overlay.paused["*"]'],
    ['{"paused":{"*":"*","a":"*"}}', 'overlay.paused["*"]'],
    ['{"skips":{"a":{"x":[1,1]}}}', 'overlay.skips.a.x'],
    ['{"skips":{"a":{"1":[1]}}}', 'overlay.skips.a.1'],
    ['{"topics":{"bad name":"in"}}', 'overlay.topics["bad name"]'],
    ['{"topics":{"a":"maybe"}}', 'overlay.topics.a'],
  ] as const) {
    const told = await api.ask('PUT', '/v1/flows/other', { text: `${body}${wrong}}` })
    assert.equal(told.status, 422, wrong)
    assert.deepEqual(
      (told.json['errors'] as { path: string }[]).map(one => one.path),
      [path],
      told.text,
    )
  }
})

test('what stands in chunks is counted whole, and what is just written anew is read again', async t => {
  const api = await served(t)
  api.putFlow('clicks')
  const chunk = (k: number, ranges: string) =>
    api.put(`/held/w-1/7-3-${k}`, `{"flows":{"clicks":{"a":"${ranges}"}},"v":1}`)
  api.putHeld('w-1', [], { chunks: 2 })
  chunk(0, '0-9')
  chunk(1, '10-14')
  assert.equal((await api.ask('POST', '/v1/flows/clicks/pause')).json['held'], 15)
  api.putHeld('w-1', [], { chunks: 3 })
  const { json } = await api.ask('GET', '/v1/workers')
  assert.equal((json['workers'] as unknown[]).length, 1)
})
