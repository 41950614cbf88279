import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MillraceError } from '../../engine/errors.ts'
import type { Json } from '../../engine/fleet/decide/canonical.ts'
import { knownOf } from '../api/served.ts'
import { askedFleet } from './askedFleet.ts'

const looks = [
  'status',
  'flows',
  'flows clicks',
  'topics clicks',
  'topics clicks/clicks.a',
  'partitions clicks',
  'partitions clicks/clicks.a',
  'partitions clicks/clicks.a/0',
  'partitions clicks/clicks.a/0 --why',
  'workers',
  'workers w-1',
  'plan',
  'offsets get clicks',
  'offsets get clicks/clicks.a',
  'balancing',
  'state',
]

test('every look is answered in every form, and a viewer may have it', async t => {
  const { run } = await askedFleet(t)
  for (const line of looks) {
    for (const format of ['table', 'wide', 'json', 'yaml', 'name']) {
      const { code, out, err } = await run(`${line} -o ${format}`, { role: 'viewer' })
      assert.deepEqual([code, err], [0, ''], `${line} -o ${format}`)
      assert.ok(out.endsWith('\n'), `${line} -o ${format}: ${out}`)
      if (format === 'json') assert.equal(typeof JSON.parse(out), 'object', line)
    }
  }
})

test('json is what the API answered', async t => {
  const { run, ask } = await askedFleet(t)
  const { asOf: _, ...told } = (await ask('GET', '/v1/workers')).json
  const { asOf, ...said } = JSON.parse((await run('workers -o json')).out)
  assert.deepEqual(said, told)
  assert.equal(typeof asOf, 'string')
})

test('name is one name a line, for scripts', async t => {
  const { run } = await askedFleet(t)
  assert.equal((await run('flows -o name')).out, 'clicks\npaused\n')
  assert.equal((await run('workers -o name')).out, 'w-1\nw-2\n')
  assert.equal((await run('topics clicks -o name')).out, 'clicks.a\n')
  assert.match((await run('partitions clicks -o name')).out, /^clicks\/clicks\.a\/0\nclicks\/clicks\.a\/1\n/)
})

test('columns are as wide as their widest cell, numbers at the right', async t => {
  const { run, putWorker } = await askedFleet(t)
  putWorker('a-worker-with-a-long-name')
  const { out } = await run('workers')
  const lines = out.trimEnd().split('\n')
  assert.match(lines[0] ?? '', /^WORKER {21}STATE +UNITS {2}HELD {3}LOAD {2}SHARE {4}BEAT {2}ERRORS$/)
  const at = (line: string | undefined, column: string) => line?.[(lines[0]?.indexOf(column) ?? 0) + column.length - 1]
  assert.equal(at(lines[2], 'UNITS'), '1')
  assert.equal(at(lines[2], 'ERRORS'), '1')
  assert.equal(new Set(lines.map(line => line.length)).size, 1, out)
})

test('a worker whose beats are missing is silent, and what it holds is counted apart', async t => {
  const known = knownOf()
  const silent = {
    workers: () => new Map([...known.workers()].map(([id, one]) => [id, { ...one, silent: true }])),
    flows: () => new Map([...known.flows()].map(([id, one]) => [id, { ...one, held: 0, silent: 1 }])),
  }
  const { run } = await askedFleet(t, { known: () => ({ ...known, ...silent }) })
  assert.match((await run('workers')).out, /^w-1 +silent +1 /m)
  assert.match((await run('flows')).out, /^clicks .* 1 on silent workers/m)
  assert.match((await run('flows clicks')).out, /1 assigned, 0 held, 1 on silent workers, 0 in transit/)
  assert.match((await run('status')).out, /2 workers, 1 silent/)
  assert.match((await run('partitions clicks')).out, /^clicks\.a +0 {2}running +w-1 .* its worker is silent/m)
  assert.match((await run('partitions clicks/clicks.a/0 --why')).out, /^lease +silent, last beat/m)
})

test('what is in error, and what its file does not have any more, stands in the list of flows', async t => {
  const known = knownOf()
  const flows = () => new Map([...known.flows()].map(([id, one]) => [id, { ...one, inError: 2 }]))
  const { run, putFlow } = await askedFleet(t, { known: () => ({ ...known, flows }) })
  putFlow('clicks', { origin: 'config', rest: new Map([['file', new Map<string, Json>([['left', new Map()]])]]) })
  for (const line of ['flows', 'status']) {
    assert.match((await run(line)).out, /^clicks .* 2 in error, not in the file any more/m, line)
  }
  const { out } = await run('flows clicks')
  assert.match(out, /^in error +2 units: millrace partitions clicks$/m)
  assert.match(out, /^file +does not have it any more: millrace delete clicks ends it$/m)
})

test('the page of a worker has what it holds', async t => {
  const { run } = await askedFleet(t)
  assert.match((await run('workers w-1')).out, /^holds +clicks\/clicks\.a\/0$/m)
  assert.doesNotMatch((await run('workers w-2')).out, /^holds/m)
})

test('wide has more columns', async t => {
  const { run } = await askedFleet(t)
  assert.match((await run('workers -o wide')).out, /zone=a,gpu/)
  assert.doesNotMatch((await run('workers')).out, /zone=a/)
})

test('the page of a partition joins what the leader, both brokers and people say of it, and what may be done', async t => {
  const { run } = await askedFleet(t)
  await run('skip clicks/clicks.a/0 --offset 7 --records 2')
  await run('pause clicks/clicks.a/0')
  const { code, out } = await run('partitions clicks/clicks.a/0 --why')
  assert.equal(code, 0)
  for (const line of [
    /^partition +clicks\/clicks\.a\/0$/m,
    /^state +paused: somebody paused it$/m,
    /^checkpoint +5$/m,
    /^source log +start 0, stable 9, end 10$/m,
    /^lag +4 records$/m,
    /^worker +w-1$/m,
    /^lease +ready, last beat 500 ms ago, held for 7\.5 s$/m,
    /^generation +7\/3 wanted, 7\/3 applied$/m,
    /^paused +clicks\.a\/0$/m,
    /^to skip +2 from offset 7$/m,
    /^set aside +createTopic \*: kafka-not-authorized: no right$/m,
    /^next +millrace resume clicks lets it run$/m,
  ]) {
    assert.match(out, line)
  }
})

test('what a flow warns of stands in the list and on its page', async t => {
  const known = knownOf()
  const flow = known.flows().get('clicks')
  const warning = { code: 'loop-guard-off', message: 'records may go round', hint: 'loopGuard: topic' }
  const flows = () => new Map(flow ? [['clicks', { ...flow, warnings: [warning] }]] : [])
  const { run } = await askedFleet(t, { known: () => ({ ...known, flows }) })
  for (const line of ['flows', 'status']) assert.match((await run(line)).out, /\nclicks .* loop-guard-off\n/, line)
  assert.match((await run('flows clicks')).out, /\nwarning +records may go round\n +loopGuard: topic\n/)
})

test('what nobody has counted is no nought', async t => {
  const known = knownOf()
  const flow = known.flows().get('clicks')
  const none = { records: null, bytes: null, gapRecords: null, skippedRecords: null }
  const report = () => {
    const found = flow?.report() ?? null
    return found && { ...found, ...none, topics: found.topics.map(topic => ({ ...topic, ...none })) }
  }
  const flows = () => new Map(flow ? [['clicks', { ...flow, report }]] : [])
  const { run } = await askedFleet(t, { known: () => ({ ...known, flows }) })
  assert.match((await run('topics clicks')).out, /\nclicks\.a +clicks\.a +10 +- +- +4 +- +- +running +-\n/)
  assert.doesNotMatch((await run('flows clicks')).out, /^copied/m)
})

test('the page of a flow ends with what has happened in it last', async t => {
  const { run } = await askedFleet(t)
  assert.match((await run('flows clicks')).out, /\nevent +2023-11-14T22:13:20\.000Z source-gap: 10 offsets are gone\n/)
})

test('a list of partitions says which of them are paused, and what is in error', async t => {
  const row = { topic: 'clicks.a', checkpoint: 5n, logStart: 0n, lastStable: 9n, highWatermark: 9n }
  const { run } = await askedFleet(t, { readOffsets: async () => [0, 9].map(partition => ({ ...row, partition })) })
  const lines = async () => (await run('partitions clicks')).out.split('\n')
  const [titles, first, ...rest] = await lines()
  assert.match(titles ?? '', /^TOPIC +PARTITION {2}STATE +WORKER +CHECKPOINT +START +END +LAG {2}NOTE$/)
  assert.match(first ?? '', /^clicks\.a +0 {2}running +w-1 +5 +0 +9 +4 {2}-$/)
  assert.match(rest[8] ?? '', / 9 {2}error .* batch-corrupt at 9$/)
  await run('pause clicks --topic clicks.a --partitions 0-3')
  assert.match((await lines())[1] ?? '', / 0 {2}paused .* -$/)
})

test('partitions are listed with their states while no broker answers', async t => {
  const readOffsets = async () => {
    throw new MillraceError('kafka-unreachable', 'east: nobody answers')
  }
  const { run } = await askedFleet(t, { readOffsets })
  const { code, out, err } = await run('partitions clicks/clicks.a')
  assert.deepEqual([code, err], [0, 'offsets are not known: kafka-unreachable: east: nobody answers\n'])
  assert.match(out, /\nclicks\.a +0 {2}running +w-1 +- +- +- +- {2}-\n/)
  const json = JSON.parse((await run('partitions clicks/clicks.a -o json')).out)
  assert.equal(json.partitions.length, 10)
})

const unknown: [line: string, meant: RegExp][] = [
  ['flows clics', /did you mean clicks\?/],
  ['topics clics', /did you mean clicks\?/],
  ['topics clicks/clicks.b', /did you mean clicks\.a\?/],
  ['partitions clicks/clicks.b', /did you mean clicks\.a\?/],
  ['partitions clics/clicks.a/0', /did you mean clicks\?/],
  ['workers w-3', /did you mean w-1\?/],
  ['offsets get clicks/clicks.b', /did you mean clicks\.a\?/],
]

test('a name that is not there ends with 4, and the nearest one is told', async t => {
  const { run } = await askedFleet(t)
  for (const [line, meant] of unknown) {
    const { code, out, err } = await run(line)
    assert.deepEqual([code, out], [4, ''], line)
    assert.match(err, /^not-found: /, line)
    assert.match(err, meant, line)
  }
})

test('words that are wrong end with 2 before anybody is asked', async t => {
  const { run, audit } = await askedFleet(t)
  for (const line of [
    'status -o tabel',
    'partitions clicks/a/x',
    'partitions clicks/a/1/2',
    'partitions clicks --why',
    'topics',
    'flows a b c',
    'statsu',
    'pause clicks --partitions 0-3',
    'pause clicks/a --topic b',
    'pause clicks --wait 0',
    'pause clicks --wait 61',
    'balancing maybe',
    'move clicks/a/1',
    'move clicks/a --to w-1',
    'move clicks/a/1 --to w-1 --anywhere',
    'skip clicks/a/1',
    'skip clicks/a/1 --offset -1',
    'skip clicks/a/1 --offset 1 --records 0',
    'offsets reset clicks',
    'offsets reset clicks --to 2026-01-31T00:00',
    'apply',
    'diff -f /nowhere/flows.yaml',
  ]) {
    const { code, out, err } = await run(line)
    assert.deepEqual([code, out], [2, ''], `${line}: ${err}`)
    assert.notEqual(err, '', line)
  }
  assert.equal(audit.length, 0)
})

test('what an answer brings cannot move the cursor of a terminal', async t => {
  const { run, putWorker } = await askedFleet(t)
  putWorker('w-3', { software: 'a\u001b[2Jb\nc' })
  const { out } = await run('workers -o wide')
  assert.ok(!out.includes('\u001b'))
  assert.equal(out.trimEnd().split('\n').length, 4)
})
