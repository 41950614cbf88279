import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readFlow } from '../../engine/fleet/decide/documents/flow.ts'
import { paths } from '../../engine/fleet/decide/documents/paths.ts'
import { writeStats } from '../../engine/fleet/decide/documents/stats.ts'
import { manualClock } from '../fakes/clock.ts'
import { knownOf, type Served, served } from './served.ts'

const overlay = (api: Served) => readFlow(String(api.dataOf('/flows/clicks')), '').overlay

test('a pause in parts is merged, and a resume takes out what it names', async t => {
  const api = await served(t)
  api.putFlow('clicks')
  await api.ask('POST', '/v1/flows/clicks/pause', { body: { partitions: { a: '0-3', b: '7' } } })
  await api.ask('POST', '/v1/flows/clicks/pause', { body: { partitions: { a: '5' }, topics: ['c'] } })
  assert.deepEqual(
    overlay(api).paused,
    new Map<string, unknown>([
      ['a', [0, 1, 2, 3, 5]],
      ['b', [7]],
      ['c', '*'],
    ]),
  )
  const same = await api.ask('POST', '/v1/flows/clicks/pause', { body: { partitions: { a: '2-3', c: '1' } } })
  assert.deepEqual([same.status, same.json['unchanged']], [202, true])
  const resumed = await api.ask('POST', '/v1/flows/clicks/resume', {
    body: { partitions: { a: '1-5' }, topics: ['b'] },
  })
  assert.deepEqual(resumed.json['paused'], { a: '0', c: '*' })
  const part = await api.ask('POST', '/v1/flows/clicks/resume', { body: { partitions: { c: '1' } } })
  assert.equal(part.status, 409)
  await api.ask('POST', '/v1/flows/clicks/pause')
  assert.equal(overlay(api).paused, '*')
  assert.equal((await api.ask('POST', '/v1/flows/clicks/resume', { body: { topics: ['a'] } })).status, 409)
  await api.ask('POST', '/v1/flows/clicks/resume')
  assert.deepEqual(overlay(api).paused, new Map())
})

test('a resume writes a new tag although nothing was paused: it says try again', async t => {
  const api = await served(t)
  const tag = api.putFlow('clicks')
  const told = await api.ask('POST', '/v1/flows/clicks/resume')
  assert.equal(told.status, 202)
  assert.notEqual(api.tagOf('/flows/clicks'), tag)
})

test('a pause that waits answers when nothing of it is held any more', async t => {
  const api = await served(t)
  api.putFlow('clicks')
  api.putHeld('w-1', ['clicks/a/0', 'clicks/b/0'])
  const now = await api.ask('POST', '/v1/flows/clicks/pause', { body: { topics: ['a'] } })
  assert.equal(now.json['held'], 1)
  const waits = api.ask('POST', '/v1/flows/clicks/pause?wait=20', { body: { topics: ['a'] } })
  api.putHeld('w-1', ['clicks/b/0'])
  assert.equal((await waits).json['held'], 0)
  assert.equal((await api.ask('POST', '/v1/flows/clicks/pause?wait=61')).status, 422)
  assert.equal((await api.ask('POST', '/v1/flows/clicks/pause?wit=1')).status, 422)
})

test('in one process what runs is counted there', async t => {
  const known = { ...knownOf(), running: () => ['a/0', 'a/1', 'b/0'] }
  const api = await served(t, { mode: 'solo', known: () => known })
  api.putFlow('clicks')
  const told = await api.ask('POST', '/v1/flows/clicks/pause', { body: { partitions: { a: '0-9' } } })
  assert.equal(told.json['held'], 2)
})

test('a topic is put in, put in again, and taken out', async t => {
  const api = await served(t)
  api.putFlow('clicks')
  assert.equal((await api.ask('PUT', '/v1/flows/clicks/topics/extra')).status, 201)
  const again = await api.ask('PUT', '/v1/flows/clicks/topics/extra')
  assert.deepEqual([again.status, again.json['unchanged']], [200, true])
  const out = await api.ask('DELETE', '/v1/flows/clicks/topics/extra')
  assert.deepEqual([out.status, out.json['overlay']], [200, 'out'])
  assert.equal((await api.ask('PUT', '/v1/flows/clicks/topics/extra')).status, 201)
  assert.equal((await api.ask('PUT', '/v1/flows/clicks/topics/__consumer_offsets')).status, 422)
  assert.equal((await api.ask('PUT', '/v1/flows/clicks/topics/no%20name')).status, 422)
  const { json } = await api.ask('GET', '/v1/flows/clicks/topics')
  assert.deepEqual(
    (json['topics'] as { topic: string }[]).map(one => one.topic),
    ['clicks.a', 'extra'],
  )
  const path = '/v1/flows/clicks/topics/extra'
  const forgotten = await api.ask('PUT', path, { body: { overlay: null } })
  assert.deepEqual([forgotten.status, forgotten.json['overlay']], [200, null])
  assert.equal((await api.ask('PUT', path, { body: { overlay: null } })).json['unchanged'], true)
  assert.equal((await api.ask('GET', path)).status, 404)
})

test('a topic says what of it is paused, also one that the flow does not have', async t => {
  const api = await served(t)
  api.putFlow('clicks')
  await api.ask('POST', '/v1/flows/clicks/pause', { body: { topics: ['nope'], partitions: { 'clicks.a': '0-3' } } })
  const { json } = await api.ask('GET', '/v1/flows/clicks/topics')
  assert.deepEqual(
    (json['topics'] as { topic: string; paused: string; report: unknown }[]).map(one => [
      one.topic,
      one.paused,
      one.report !== null,
    ]),
    [
      ['clicks.a', '0-3', true],
      ['nope', '*', false],
    ],
  )
})

test('a skip at another offset than the one that fails is refused', async t => {
  const api = await served(t)
  api.putFlow('clicks')
  const path = '/v1/flows/clicks/partitions/clicks.a/9/skip'
  const wrong = await api.ask('POST', path, { body: { offset: 7, records: 1 } })
  assert.deepEqual([wrong.status, wrong.json['code']], [409, 'conflict'])
  assert.match(wrong.text, /offset 9/)
  const right = await api.ask('POST', path, { body: { offset: 9, records: 1 } })
  assert.deepEqual([right.status, right.json['failsAt']], [202, '9'])
  assert.equal((await api.ask('POST', path, { body: { offset: '9', records: 1 } })).json['unchanged'], true)
  assert.deepEqual(overlay(api).skips, new Map([['clicks.a', new Map([[9, [9, 1]]])]]))
})

test('any controller knows from /held which offset fails', async t => {
  const api = await served(t, { known: () => null, leader: () => null })
  api.putFlow('clicks')
  const error = { unit: 'clicks/a/1', code: 'batch-corrupt' as const, sinceMs: 1, offset: '9007199254740993' }
  api.putHeld('w-1', ['clicks/a/1'], { errors: [error] })
  const path = '/v1/flows/clicks/partitions/a/1/skip'
  assert.equal((await api.ask('POST', path, { body: { offset: 9, records: 1 } })).status, 409)
  assert.equal((await api.ask('POST', path, { body: { offset: '9007199254740993', records: 2 } })).status, 202)
  assert.match(String(api.dataOf('/flows/clicks')), /\["9007199254740993",2\]/)
})

test('offsets are set only of what is paused and held by nobody', async t => {
  const api = await served(t)
  api.putFlow('clicks')
  const ask = (parts: unknown, to: unknown = 'earliest') =>
    api.ask('PUT', '/v1/flows/clicks/offsets', { body: { parts, to } })
  assert.equal((await ask('*')).status, 409)
  await api.ask('POST', '/v1/flows/clicks/pause', { body: { partitions: { a: '0-3' }, topics: ['b'] } })
  api.putHeld('w-1', ['clicks/a/3', 'clicks/c/0'])
  assert.match((await ask({ a: '0-4' })).text, /not paused: a\/4/)
  assert.match((await ask({ a: '0-3' })).text, /still run: a\/3/)
  assert.match((await ask({ a: '*' })).text, /not paused: a/)
  assert.equal(api.asked.length, 0)
  const told = await ask({ a: '0-2', b: '*' }, { offset: '9007199254740993' })
  assert.equal(told.status, 200, told.text)
  assert.deepEqual(api.asked, [
    {
      parts: new Map<string, unknown>([
        ['a', [0, 1, 2]],
        ['b', '*'],
      ]),
      to: { offset: 9_007_199_254_740_993n },
      dryRun: false,
    },
  ])
  assert.equal((await ask({ a: '0-2' }, { timeMs: 1.5 })).status, 422)
})

test('a partition says its state, its owner and its offsets; one that is not there has a near topic', async t => {
  const api = await served(t)
  api.putFlow('clicks')
  const { json } = await api.ask('GET', '/v1/flows/clicks/partitions/clicks.a/0?why=true')
  assert.deepEqual([json['state'], json['worker'], json['checkpoint'], json['lagRecords']], ['running', 'w-1', 5, 4])
  assert.equal((json['why'] as { lease: { beatAgeMs: number } }).lease.beatAgeMs, 500)
  const failing = await api.ask('GET', '/v1/flows/clicks/partitions/clicks.a/9')
  assert.deepEqual([failing.json['state'], (failing.json['error'] as { offset: string }).offset], ['error', '9'])
  const none = await api.ask('GET', '/v1/flows/clicks/partitions/clicks.b/0')
  assert.deepEqual([none.status, none.json['hint']], [404, 'did you mean clicks.a?'])
  const beyond = await api.ask('GET', '/v1/flows/clicks/partitions/clicks.a/77')
  assert.deepEqual([beyond.status, beyond.json['hint']], [404, 'clicks.a has partitions 0 to 9'])
})

test('a list of partitions says of each its state and owner, and asks no broker', async t => {
  const api = await served(t, { readOffsets: () => assert.fail('no broker is asked') })
  api.putFlow('clicks')
  const at = { bytesPerSecond: 70, lagRecords: 4, state: 'blocked' as const }
  api.put(paths.stats('w-1'), writeStats({ atMs: 1, of: new Map([['clicks/clicks.a/0', at]]) }))
  await api.ask('POST', '/v1/flows/clicks/pause', { body: { partitions: { 'clicks.a': '2' } } })
  const { json } = await api.ask('GET', '/v1/flows/clicks/partitions?topic=clicks.a')
  const rows = json['partitions'] as Record<string, unknown>[]
  const none = { code: null, offset: null, worker: null, lagRecords: null, bytesPerSecond: null }
  const row = (partition: number, more: object) => ({ topic: 'clicks.a', partition, ...none, ...more })
  assert.deepEqual(rows.slice(0, 3), [
    row(0, { state: 'blocked', reason: null, worker: 'w-1', lagRecords: 4, bytesPerSecond: 70 }),
    row(1, { state: 'waiting', reason: 'it is not ready to run' }),
    row(2, { state: 'paused', reason: 'somebody paused it' }),
  ])
  assert.deepEqual(rows[9], row(9, { state: 'error', reason: 'batch-corrupt', code: 'batch-corrupt', offset: '9' }))
  const none404 = await api.ask('GET', '/v1/flows/clicks/partitions?topic=clicks.b')
  assert.deepEqual([none404.status, none404.json['hint']], [404, 'did you mean clicks.a?'])
  assert.equal((await api.ask('GET', '/v1/flows/clicks/partitions?topic=a%20b')).status, 422)
})

test('while nobody leads the reports of workers say who has a partition, and what cannot be read hides no other', async t => {
  const api = await served(t, { known: () => null, leader: () => null })
  api.putFlow('clicks')
  const error = { unit: 'clicks/clicks.a/1', code: 'batch-corrupt' as const, sinceMs: 1, offset: '9' }
  api.putHeld('w-1', ['clicks/clicks.a/0', 'clicks/clicks.a/1'], { errors: [error] })
  api.putHeld('w-2', ['clicks/b/0'])
  api.putHeld('w-3', ['clicks/b/1'], { state: 'left' })
  api.put(paths.stats('w-1'), '{"atMs"')
  const { json } = await api.ask('GET', '/v1/flows/clicks/partitions')
  const rows = json['partitions'] as { topic: string; partition: number; state: string; worker: string }[]
  assert.deepEqual(
    rows.map(one => `${one.topic}/${one.partition} ${one.state} ${one.worker}`),
    ['b/0 running w-2', 'clicks.a/0 running w-1', 'clicks.a/1 error w-1'],
  )
  assert.equal((await api.ask('GET', '/v1/flows/clicks/partitions?topic=c')).status, 200)
})

test('brokers that do not answer keep nobody waiting: a partition is told without them, with ?why with the reason', async t => {
  const clock = manualClock()
  const asked: (() => void)[] = []
  const readOffsets = () => new Promise<never>(() => asked.shift()?.())
  const api = await served(t, { clock, readOffsets })
  api.putFlow('clicks')
  const late = async (path: string) => {
    const isAsked = new Promise<void>(resolve => asked.push(resolve))
    const told = api.ask('GET', path)
    await isAsked
    await clock.advance(1_500)
    return told
  }
  const told = await late('/v1/flows/clicks/partitions/clicks.a/0?why')
  assert.deepEqual([told.status, told.json['checkpoint']], [200, null])
  assert.equal((told.json['why'] as { brokers: { code: string } }).brokers.code, 'kafka-unreachable')
  const offsets = await late('/v1/flows/clicks/offsets')
  assert.deepEqual([offsets.status, offsets.json['code']], [503, 'kafka-unreachable'])
})

test('a pause of more partitions than there is memory for is refused, in one topic or in many', async t => {
  const api = await served(t)
  api.putFlow('clicks')
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`t${n}`, '0-99999']))
  for (const partitions of [{ a: '0-2147483647' }, many]) {
    const { status, json } = await api.ask('POST', '/v1/flows/clicks/pause', { body: { partitions } })
    assert.deepEqual([status, json['code']], [422, 'config-invalid'], JSON.stringify(json))
  }
})
