import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  documentsOf,
  isExported,
  readExport,
  type StateExport,
  sameWished,
  wishedOf,
  writeExport,
} from '../../../engine/fleet/decide/export.ts'

const flow = '{"kind":"mirror","overlay":{"topics":{"10":"in","9":"out","__proto__":"in","constructor":"out"}},"v":1}'
const text = `{"atMs":1790240400000,"epoch":7,"flows":{"a":{"v":1},"clicks":${flow}},"logging":null,"v":1,"wishes":{"auto":true,"later":[1,"x"],"v":1}}`
const read = (json: string) => readExport(json, 'fleet/state.json')

test('C-104: the export is the documents as they are, canonical, and is read back byte for byte', () => {
  const state = read(text)
  assert.equal(writeExport(state), text)
  assert.deepEqual(
    [state.atMs, state.epoch, [...state.flows.keys()], state.logging],
    [1790240400000, 7, ['a', 'clicks'], null],
  )
  assert.equal(({} as Record<string, unknown>)['constructor'], Object)
  assert.equal(Object.keys(Object.prototype).length, 0)
})

test('how it is spaced does not matter, and what a newer version wrote beside it stays', () => {
  const spaced = JSON.stringify({ ...JSON.parse(text), more: { a: 1 } }, null, 2)
  assert.equal(
    writeExport(read(`${spaced}\n`)),
    text.replace('"v":1,"wishes":{"auto"', '"more":{"a":1},"v":1,"wishes":{"auto"'),
  )
})

test('documents go into the export and come out of it as the same texts', () => {
  const documents = new Map([
    ['/flows/clicks', flow],
    ['/wishes', '{"auto":true,"v":1}'],
    ['/logging', '{"levels":{"__proto__":"debug"},"v":1}'],
    ['/epoch', '{"atMs":5,"epoch":3,"leader":"c-1","v":1}'],
    ['/workers/w-1', 'not ours'],
    ['/flows/clicks/below', 'not ours'],
  ])
  const wished = wishedOf(documents, 2)
  assert.equal(wished.epoch, 3)
  assert.equal(wishedOf(documents, 9).epoch, 9)
  assert.equal(wishedOf(new Map(), 0).epoch, 0)
  const back = documentsOf(read(writeExport({ ...wished, atMs: 1, rest: new Map() })))
  assert.deepEqual(Object.fromEntries(back), {
    '/flows/clicks': flow,
    '/logging': documents.get('/logging'),
    '/wishes': documents.get('/wishes'),
  })
  assert.ok(sameWished(wished, wishedOf(new Map([...documents].reverse()), 0)))
  assert.ok(!sameWished(wished, { ...wished, epoch: 4 }))
})

test('only what people wish and the epoch are exported', () => {
  for (const path of ['/flows/a', '/wishes', '/logging', '/epoch']) assert.ok(isExported(path), path)
  for (const path of ['/flows', '/flows/', '/flows/a/b', '/workers/a', '/leader/candidate-1', '/wishes/a', '/flowsx']) {
    assert.ok(!isExported(path), path)
  }
})

const bad: [name: string, json: string, message: RegExp][] = [
  ['no JSON', text.slice(0, 40), /fleet\/state\.json: JSON expected at position/],
  ['nothing', '', /position 1/],
  ['a list', '[]', /the document: an object expected/],
  ['no version', text.replace('"v":1,"wishes"', '"wishes"'), /v: a whole number from 1 expected, found nothing/],
  ['an epoch below 0', text.replace('"epoch":7', '"epoch":-1'), /epoch: a whole number from 0 expected, found -1/],
  ['no flows', text.replace('"flows"', '"flow"'), /flows: an object expected, found nothing/],
  ['a flow that is text', text.replace('{"v":1}', '"x"'), /flows\.a: an object expected, found "x"/],
  [
    'a flow of a name that leads elsewhere',
    text.replace('"a":{', '"../wishes":{'),
    /flows\.\.\.\/wishes: the name of a flow/,
  ],
  ['a flow named __proto__', text.replace('"a":{', '"__proto__":{'), /flows\.__proto__: the name of a flow/],
  ['wishes that are missing', text.replace('"wishes"', '"wish"'), /wishes: something expected, found nothing/],
  ['wishes that are a list', text.replace('"logging":null', '"logging":[]'), /logging: an object or null expected/],
  [
    'a number that is not whole',
    text.replace('"later":[1', '"later":[1.5'),
    /wishes: whole numbers below 2\^53 expected/,
  ],
]
for (const [name, json, message] of bad) {
  test(`${name} is state-corrupt, with the place`, () => {
    assert.throws(() => read(json), { code: 'state-corrupt', message })
  })
}

test('an export of a newer version is told as that', () => {
  assert.throws(() => read(text.replace('"v":1,"wishes"', '"v":2,"wishes"')), {
    code: 'state-version',
    message: /fleet\/state\.json: version 2, .* up to 1/,
  })
})

test('a document that is no JSON object is told with its path and not exported', () => {
  const of = (path: string, data: string) => () => wishedOf(new Map([[path, data]]), 0)
  assert.throws(of('/wishes', ''), { code: 'state-corrupt', message: /\/wishes: JSON/ })
  assert.throws(of('/flows/a', '[]'), { code: 'state-corrupt', message: /\/flows\/a: an object/ })
  assert.throws(of('/flows/A', '{}'), { code: 'state-corrupt', message: /\/flows\/A: the name of a flow/ })
  assert.throws(of('/logging', '{"a":0.5}'), { code: 'state-corrupt', message: /\/logging: whole numbers/ })
})

test('a deep document is told as corrupt, not a stack that is full', () => {
  const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`
  const state: () => StateExport = () => read(text.replace('"later":[1,"x"]', `"later":${deep}`))
  assert.throws(state, { code: 'state-corrupt' })
})
