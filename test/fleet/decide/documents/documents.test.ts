import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import {
  type AssignmentDoc,
  readAssignment,
  writeAssignment,
} from '../../../../engine/fleet/decide/documents/assignment.ts'
import { readCandidate, writeCandidate } from '../../../../engine/fleet/decide/documents/candidate.ts'
import { cutDocument, joinChunks, readChunk } from '../../../../engine/fleet/decide/documents/chunks.ts'
import { readEpoch, writeEpoch } from '../../../../engine/fleet/decide/documents/epoch.ts'
import { overlayOf, readFlow, writeFlow } from '../../../../engine/fleet/decide/documents/flow.ts'
import { type HeldDoc, readHeld, writeHeld } from '../../../../engine/fleet/decide/documents/held.ts'
import { readStats, type StatsDoc, writeStats } from '../../../../engine/fleet/decide/documents/stats.ts'
import { noWishes, readWishes, writeWishes } from '../../../../engine/fleet/decide/documents/wishes.ts'
import { readWorker, type WorkerDoc, writeWorker } from '../../../../engine/fleet/decide/documents/worker.ts'
import { namesOf, unitsOf } from '../../../../engine/fleet/decide/units.ts'
import { chunkBytesMax } from '../../../../engine/limits.ts'

const path = '/there'
const worker: WorkerDoc = {
  ...{ id: 'w-1', address: null, capacity: 1000, leaseMs: 7000, revision: '', software: '0.1.0', startedAtMs: 5 },
  ...{ state: 'ready', tags: ['zone=a'], task: '', unitsMax: 20_000 },
}

test('COORDINATION 1: an assignment is the same bytes both ways, whatever its topics are called', () => {
  const before = Object.getOwnPropertyNames(Object.prototype)
  const text =
    '{"chunks":0,"epoch":7,"flows":{"clicks":{"10":"3","9":"0-1","__proto__":"0","clicks.web":"0-31,40"}},"generation":42,"v":1}'
  const doc = readAssignment(text, path)
  assert.equal(writeAssignment(doc), text)
  assert.equal(new Set(namesOf(doc.units)).size, 37)
  assert.ok(namesOf(doc.units).includes('clicks/__proto__/0'))
  const odd =
    '{"chunks":0,"epoch":7,"flows":{"__proto__":{"constructor":"0","toString":"1"}},"generation":42,"specs":{"__proto__":"9"},"v":1}'
  assert.equal(writeAssignment(readAssignment(odd, path)), odd)
  assert.deepEqual(Object.getOwnPropertyNames(Object.prototype), before)
})

describe('each document is read as it was written', () => {
  const both = <T>(name: string, text: string, read: (text: string, path: string) => T, write: (doc: T) => string) =>
    it(name, () => assert.equal(write(read(text, path)), text))
  both('a worker', writeWorker(worker), readWorker, writeWorker)
  both('an epoch', '{"atMs":1,"epoch":3,"leader":"c-1","v":1}', readEpoch, writeEpoch)
  both('a candidate', '{"id":"c","leaseMs":7000,"software":"1","url":null,"v":1}', readCandidate, writeCandidate)
  both(
    'what is held',
    '{"atMs":1,"chunks":0,"credentials":{},"epoch":3,"errors":[{"code":"source-gap","offset":"9","sinceMs":1,"unit":"f/t/0"}],"flows":{"f":{"t":"0-2"}},"generation":4,"handlers":{},"state":"fenced","v":1}',
    readHeld,
    writeHeld,
  )
  both(
    'statistics',
    '{"atMs":1,"flows":{"f":{"10":["1",[5],[-1]],"t":["0-1,4",[1,2,-1],[0,-1,7]]}},"states":{"f":{"t":{"error":"0","stalled":"4"}}},"v":1}',
    readStats,
    writeStats,
  )
  both(
    'wishes, with what another version wrote beside them',
    '{"auto":false,"changedBy":{"atMs":1,"by":"me"},"drains":{"__proto__":{"atMs":2,"by":"me","reason":"deploy"}},"later":{"x":[1]},"moves":{"f/t/0":"w"},"rebalance":2,"v":1}',
    readWishes,
    writeWishes,
  )
  both(
    'a flow with an overlay',
    '{"changedBy":{"atMs":1,"by":"me"},"deleting":true,"kind":"mirror","later":1,"origin":"api","overlay":{"paused":{"__proto__":"*","t":"0-3"},"skips":{"t":{"0":[9,1],"1":["9007199254740993",2]}},"topics":{"a":"in","b":"out"}},"spec":{"from":"a"},"v":1}',
    readFlow,
    writeFlow,
  )
  both(
    'a flow that is paused as a whole',
    '{"changedBy":{"atMs":1,"by":"me"},"kind":"mirror","origin":"config","overlay":{"paused":{"*":"*"},"skips":{},"topics":{}},"spec":{},"v":1}',
    readFlow,
    writeFlow,
  )
})

test('the overlay of a flow is seen by the kinds as sets and whole offsets', () => {
  const text =
    '{"changedBy":{"atMs":1,"by":"me"},"kind":"mirror","origin":"api","overlay":{"paused":{"t":"0-1","u":"*"},"skips":{"t":{"1":["9007199254740993",2]}},"topics":{"a":"in"}},"spec":{},"v":1}'
  assert.deepEqual(overlayOf(readFlow(text, path)), {
    paused: new Map<string, unknown>([
      ['t', new Set([0, 1])],
      ['u', '*'],
    ]),
    skips: new Map([['t/1', { offset: 9_007_199_254_740_993n, records: 2 }]]),
    topics: new Map([['a', 'in']]),
  })
})

test('wishes that nobody wrote are an automatic balance and nothing else', () => {
  assert.equal(
    writeWishes(noWishes),
    '{"auto":true,"changedBy":{"atMs":0,"by":""},"drains":{},"moves":{},"rebalance":0,"v":1}',
  )
})

test('what cannot be read is told with its path, its place, what was found and what was expected', () => {
  const good = writeWorker(worker)
  const bad: [text: string, says: RegExp][] = [
    ['', /^\/there: JSON expected at position 1, near ""/],
    ['{"a":1,}', /^\/there: JSON expected at position 8, near "\{\\"a\\":1,\}"/],
    ['{"a":[1 2]}', /position 9/],
    ['{"a":1} x', /position 9/],
    ['{"a":"b\\q"}', /position 6/],
    ['[]', /^\/there: the document: an object expected, found \[\]/],
    [good.replace('"capacity":1000', '"capacity":0'), /^\/there: capacity: a whole number from 1 expected, found 0/],
    [good.replace('"capacity":1000', '"capacity":1.5'), /capacity: .* found 1.5/],
    [good.replace('"state":"ready"', '"state":"away"'), /state: ready \| stopping expected, found "away"/],
    [good.replace(',"task":""', ''), /task: text expected, found nothing/],
    [good.replace('"zone=a"', '7'), /tags: a list of texts expected, found \[7\]/],
  ]
  for (const [text, message] of bad)
    assert.throws(() => readWorker(text, path), { code: 'state-corrupt', message }, text)
  const flows = (json: string) => `{"chunks":0,"epoch":7,"flows":${json},"generation":42,"v":1}`
  for (const json of ['[]', '{"f":1}', '{"f":{"t":1}}', '{"f":{"t":"2,1"}}'])
    assert.throws(() => readAssignment(flows(json), path), { code: 'state-corrupt' }, json)
  const newer = good.replace('"v":1', '"v":2')
  assert.throws(() => readWorker(newer, path), { code: 'state-version', message: /^\/there: version 2, .* up to 1$/ })
})

test('a flow or a head that a few bytes make endless, or that has half an offset, is corrupt', () => {
  const flow = (overlay: string) =>
    `{"changedBy":{"atMs":1,"by":"me"},"kind":"k","origin":"api","overlay":${overlay},"spec":{},"v":1}`
  const many = JSON.stringify(Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`t${n}`, '0-99999'])))
  for (const overlay of [
    '{"paused":{"t":"0-2147483647"},"skips":{},"topics":{}}',
    `{"paused":${many},"skips":{},"topics":{}}`,
    '{"paused":{},"skips":{"t":{"0":[1.5,3]}},"topics":{}}',
  ])
    assert.throws(() => readFlow(flow(overlay), path), { code: 'state-corrupt' }, overlay)
  const head = '{"chunks":9007199254740991,"epoch":7,"flows":{},"generation":42,"v":1}'
  assert.throws(() => readAssignment(head, path), { code: 'state-corrupt', message: /chunks: at most 1000 expected/ })
})

test('of many errors so many are reported as a document may have', () => {
  const errors = Array.from({ length: 60 }, (_, n) => ({
    unit: `f/t/${n}`,
    code: 'source-gap' as const,
    sinceMs: 1,
    offset: null,
  }))
  const doc: HeldDoc = { atMs: 1, epoch: 1, generation: 1, chunks: 0, units: new Map(), state: 'running', errors }
  assert.equal(readHeld(writeHeld(doc), path).errors.length, 50)
})

test('statistics that do not fit their ranges are corrupt', () => {
  const of = (row: string) => `{"atMs":1,"flows":{"f":{"t":${row}}},"v":1}`
  for (const row of ['[]', '["0-1",[1],[1,2]]', '["0",[-2],[1]]', '["0",[1]]', '"0"'])
    assert.throws(() => readStats(of(row), path), { code: 'state-corrupt' }, row)
  const doc: StatsDoc = {
    atMs: 1,
    of: new Map([['f/t/0', { bytesPerSecond: 1.6, lagRecords: null, state: 'running' }]]),
  }
  assert.deepEqual(readStats(writeStats(doc), path).of.get('f/t/0'), {
    bytesPerSecond: 2,
    lagRecords: null,
    state: 'running',
  })
})

test('COORDINATION 3: twenty thousand topics of one partition are six chunks, none too large', () => {
  const names = Array.from({ length: 20_000 }, (_, n) => `f/${String(n).padStart(60, 'x')}/0`)
  const units = unitsOf(names)
  const doc: AssignmentDoc = { epoch: 1, generation: 1, chunks: 0, units: new Map(), specs: new Map() }
  const { head, chunks } = cutDocument(units, (of, count) => writeAssignment({ ...doc, units: of, chunks: count }))
  assert.equal(chunks.length, 6)
  for (const text of chunks) assert.ok(text.length <= chunkBytesMax)
  assert.deepEqual([readAssignment(head, path).chunks, readAssignment(head, path).units.size], [6, 0])
  const joined = joinChunks(chunks.map(text => readChunk(text, path)))
  assert.deepEqual(new Set(namesOf(joined)), new Set(names))
  const small = cutDocument(unitsOf(['f/t/0']), (of, count) => writeAssignment({ ...doc, units: of, chunks: count }))
  assert.deepEqual([small.chunks, readAssignment(small.head, path).chunks], [[], 0])
})
