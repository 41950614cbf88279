import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { readFlow } from '../../engine/fleet/decide/documents/flow.ts'
import { newFleet, served, tokens } from '../api/served.ts'
import { askedBetween } from './askedBetween.ts'
import { askedFleet, otherSpec } from './askedFleet.ts'
import { commandLine } from './commandLine.ts'

const clicks = 'clicks: { kind: mirror, from: east, to: west, topics: { include: ["clicks\\\\..*"] } }\n'
const views = `views:
  kind: mirror
  from: east
  to: west
  topics: { names: [views] }
  requires: [gpu]
  paused: { views: "0-3", old: true }
  skips: { views: { 3: [50, 1] } }
`

test('apply creates what is missing with its first pauses, and leaves what is alike', async t => {
  const { run, dataOf } = await askedFleet(t)
  const { code, out, err } = await run('apply -f -', { input: clicks + views })
  assert.deepEqual([code, out, err], [0, 'clicks: unchanged\nviews: created (3 units)\n', ''])
  const { kind, spec, overlay } = readFlow(dataOf('/flows/views') ?? '', '')
  assert.equal(kind, 'mirror')
  assert.deepEqual(JSON.parse(dataOf('/flows/views') ?? '').spec, {
    from: 'east',
    to: 'west',
    topics: { names: ['views'] },
    requires: ['gpu'],
  })
  assert.ok(spec)
  assert.deepEqual(
    overlay.paused,
    new Map<string, unknown>([
      ['old', '*'],
      ['views', [0, 1, 2, 3]],
    ]),
  )
  assert.deepEqual([...(overlay.skips.get('views') ?? [])], [[3, [50, 1]]])
})

test('apply changes what differs and keeps what people changed of it', async t => {
  const { run, dataOf } = await askedFleet(t)
  await run('apply -f -', { input: views })
  await run('resume views')
  const { code, out } = await run('apply -f -', { input: views.replace('[views]', '[views, more]') })
  assert.equal(code, 0)
  assert.match(out, /^views: changed \(paused and skips count when it is created/)
  assert.deepEqual(readFlow(dataOf('/flows/views') ?? '', '').overlay.paused, new Map())
})

test('a flow that is being deleted is not said to stand: it is gone a moment later', async t => {
  const { run, putFlow, ask } = await askedFleet(t)
  putFlow('clicks', { deleting: true })
  for (const line of ['apply -f -', 'apply -f - --dry-run', 'apply -f - --create-only']) {
    const { code, out, err } = await run(line, { input: clicks })
    assert.deepEqual([code, out], [1, 'clicks: refused\n'], line)
    assert.match(err, /^conflict: flow clicks is being deleted\n {2}apply it again when it is gone/, line)
  }
  const { code, out } = await run('diff -f -', { input: clicks })
  assert.deepEqual([code, out], [1, 'clicks: deleting\n'])
  const put = { kind: 'mirror', spec: JSON.parse((await ask('GET', '/v1/flows/clicks')).text).spec }
  assert.equal((await ask('PUT', '/v1/flows/clicks', { body: put })).status, 409)
})

test('a flow that means the same, with defaults written down, is not touched', async t => {
  const { run, audit } = await askedFleet(t)
  const input = clicks.replace('}\n', ', naming: identity, loopGuard: topic, requires: [] }\n')
  assert.equal((await run('apply -f -', { input })).out, 'clicks: unchanged\n')
  assert.deepEqual((await run('diff -f -', { input })).code, 0)
  assert.equal(audit.length, 0)
})

test('the dry run says what would be created and changed, asks what it would copy, and writes nothing', async t => {
  const topic = { topic: 'views', rule: 'name', destination: 'views', partitions: 4, there: null, fault: null }
  const preview = async () => ({ topics: [{ ...topic, selected: true }], units: 4, warnings: [] })
  const { run, audit } = await askedFleet(t, { preview })
  const input = clicks.replace('clicks\\\\', 'hits\\\\') + views
  const { code, out } = await run('apply -f - --dry-run', { input })
  assert.equal(code, 0)
  assert.equal(
    out,
    `clicks: would be changed (1 topic, 4 units)
  - topics.include: ["clicks\\\\..*"]
  + topics.include: ["hits\\\\..*"]
views: would be created (1 topic, 4 units)
`,
  )
  assert.deepEqual(new Set(audit.map(one => one.route)), new Set(['/v1/flows/{flow}/preview']))
})

test('diff ends with 0 when nothing would change, else with 1 and each value', async t => {
  const { run } = await askedFleet(t)
  assert.deepEqual(await run('diff -f -', { input: clicks }), { code: 0, out: 'clicks: same\n', err: '' })
  const { code, out } = await run('diff -f -', { input: `${clicks.replace('west', 'north')}${views}`, role: 'viewer' })
  assert.equal(code, 1)
  assert.match(out, /^clicks: different\n {2}- to: "west"\n {2}\+ to: "north"\nviews: new\n {2}\+ kind: "mirror"\n/)
  const json = JSON.parse((await run('diff -f - -o json', { input: views })).out)
  assert.deepEqual([json.flows[0].flow, json.flows[0].is], ['views', 'new'])
})

test('what the API refuses is said with its place in the file, and other flows are applied', async t => {
  const { run } = await askedFleet(t)
  const input = `${views}bad:\n  kind: mirror\n  from: east\n  to: west\n  topics: { names: 7 }\n  naming: nonsense\n`
  const { code, out, err } = await run('apply -f -', { input })
  assert.equal(code, 10)
  assert.equal(out, 'views: created (3 units)\nbad: refused\n')
  assert.match(err, /^ {2}standard input:13:20 bad\.topics\.names: found 7, expected a list/m)
  const alone = await run('apply -f -', { input: 'bad: { kind: miror, from: a, to: b }\n' })
  assert.equal(alone.code, 2)
  assert.match(alone.err, /standard input:1:14 bad\.kind: found 'miror', expected .*\(did you mean mirror\?\)/)
})

test('a file that is none is refused with every fault and its place', async t => {
  const { run } = await askedFleet(t)
  const folder = mkdtempSync(join(tmpdir(), 'millrace-apply-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'flows.yaml')
  const said = async (text: string) => {
    writeFileSync(file, text)
    const { code, out, err } = await run(`apply -f ${file}`)
    assert.deepEqual([code, out], [2, ''], text)
    return err.replaceAll(file, 'FILE')
  }
  assert.match(
    await said('a: 1\nb: [x]\n'),
    /FILE:1:4 a: found 1, expected a mapping with kind\nFILE:2:4 b: found a list/,
  )
  assert.match(await said('a: {\n'), /FILE:\d+:\d+ .*expected YAML/)
  assert.match(await said('- a\n'), /found a list, expected flows by their names/)
  assert.match(await said(''), /found nothing, expected flows/)
  assert.match(await said('flows: { a: { kind: mirror } }\nclusters: {}\n'), /clusters stands beside flows/)
  assert.match((await run('apply -f /nowhere/x')).err, /\/nowhere\/x is not there/)
})

test('flows may stand under flows: as in a configuration', async t => {
  const { run } = await askedFleet(t)
  const input = `flows:\n${clicks.replace(/^/gm, '  ')}`
  assert.equal((await run('apply -f -', { input })).out, 'clicks: unchanged\n')
})

test('--create-only leaves what is there, also when it differs', async t => {
  const { run } = await askedFleet(t)
  const { code, out } = await run('apply -f - --create-only', { input: clicks.replace('west', 'north') + views })
  assert.deepEqual([code, out], [0, 'clicks: left (it is there)\nviews: created (3 units)\n'])
})

test('a flow that somebody changed meanwhile is not written over, and it is said who it was', async t => {
  const { run, url, putFlow, dataOf } = await askedFleet(t)
  const between = await askedBetween(t, url, request => {
    if (!request.startsWith('PUT')) return
    putFlow('clicks', { spec: otherSpec, changedBy: { atMs: Date.UTC(2026, 0, 31), by: 'api:anna' } })
  })
  const { code, out, err } = await run('apply -f -', { input: clicks.replace('clicks\\\\', 'hits\\\\'), api: between })
  assert.deepEqual([code, out], [1, 'clicks: refused\n'])
  assert.match(err, /^stale: flow clicks was changed by api:anna at 2026-01-31T00:00:00\.000Z after it was read/)
  assert.deepEqual(JSON.parse(dataOf('/flows/clicks') ?? '').spec, otherSpec)
})

test('a warning about clusters that cannot be looked at refuses nothing', async t => {
  const warning = { code: 'kafka-unreachable', message: 'east: no broker answers', hint: 'look at it' }
  const { run } = await askedFleet(t, { preview: async () => ({ topics: [], units: 0, warnings: [warning] }) })
  const { code, err } = await run('apply -f -', { input: views })
  assert.equal(code, 0)
  assert.equal(err, 'views: warning: east: no broker answers (look at it)\n')
})

test('an exported state is given back to a fleet that lost it, and says what it left', async t => {
  const { run } = await askedFleet(t)
  for (const line of [
    'pause clicks/a/3',
    'balancing off',
    'drain w-1',
    'move clicks/clicks.a/0 --to w-2',
    'delete paused',
  ]) {
    assert.equal((await run(line)).code, 0, line)
  }
  await run('apply -f -', { input: views })
  const { out: state } = await run('state')

  const fleet = newFleet()
  // What the file declares is there already; nobody has changed it.
  fleet.putFlow('clicks', { origin: 'config' })
  const api = await served(t, {}, fleet)
  const again = (line: string) => commandLine(line.split(' '), { api: api.url, token: tokens.admin, input: state })
  const refused = await again('apply -f -')
  assert.equal(refused.code, 2)
  assert.match(refused.err, /--create-only/)
  const dry = await again('apply -f - --create-only --dry-run')
  assert.match(
    dry.out,
    /^clicks: would be changed .*\npaused: left .*\nviews: would be created\nbalancing: would be changed \(off\)\n/,
  )
  assert.equal(fleet.dataOf('/flows/views'), null)
  const { code, out } = await again('apply -f - --create-only')
  assert.equal(code, 0)
  assert.equal(
    out,
    `clicks: changed (what people changed is given back)
paused: left (it was being deleted)
views: created
balancing: changed (off)
drains: left (they name processes: w-1)
moves: left (they name processes: clicks/clicks.a/0)
`,
  )
  assert.deepEqual(readFlow(fleet.dataOf('/flows/clicks') ?? '', '').overlay.paused, new Map([['a', [3]]]))
  assert.equal(readFlow(fleet.dataOf('/flows/clicks') ?? '', '').origin, 'config')
  assert.match((await again('apply -f - --create-only')).out, /^clicks: left \(it is there\)\n.*\nviews: left/)
})
