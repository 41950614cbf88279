import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MillraceError } from '../../engine/errors.ts'
import type { Wished } from '../../engine/fleet/decide/export.ts'
import { stateExports } from '../../engine/fleet/exports.ts'
import type { ObjectStore } from '../../engine/ports/store.ts'
import { fakeStore } from '../fakes/store.ts'

const key = 'fleet/state.json'
function fresh(keepsVersions = false) {
  let wallMs = 1_790_240_400_000
  const clock = { wallMs: () => wallMs }
  const store = fakeStore(clock)
  const other = () => stateExports(store, { clock, keepsVersions })
  const text = () => store.objects.get(key)?.toString() ?? null
  const setWall = (ms: number) => {
    wallMs = ms
  }
  return { store, exports: other(), other, text, setWall, wallMs: () => wallMs }
}
const wished = (epoch: number, ...flows: string[]): Wished => ({
  epoch,
  flows: new Map(flows.map(name => [name, { v: 1 }])),
  logging: null,
  wishes: null,
})

test('what is written is there, and is read back', async () => {
  const { exports, other, text } = fresh()
  assert.equal(await exports.read(), null)
  await exports.write(wished(1, 'clicks'))
  assert.equal(text(), '{"atMs":1790240400000,"epoch":1,"flows":{"clicks":{"v":1}},"logging":null,"v":1,"wishes":null}')
  assert.deepEqual([...((await other().read())?.flows.keys() ?? [])], ['clicks'])
})

test('what says the same already is not written again', async () => {
  const { store, exports, setWall } = fresh()
  await exports.write(wished(1, 'a'))
  const puts = store.puts.length
  setWall(1_790_240_500_000)
  await exports.write(wished(1, 'a'))
  assert.equal(store.puts.length, puts)
})

test('C-104: the last ten stay as history, in the order of their times, also when the clock is set back', async () => {
  const { store, exports, setWall, wallMs } = fresh()
  store.objects.set('fleet/history/mine.txt', Buffer.from('kept'))
  const texts: string[] = []
  for (let n = 1; n <= 15; n++) {
    if (n === 5) setWall(wallMs() - 3_600_000)
    await exports.write(wished(n, 'a'))
    texts.push(store.objects.get(key)?.toString() ?? '')
  }
  const names = [...store.objects.keys()].filter(name => name.startsWith('fleet/history/')).sort()
  assert.equal(names.length, 11)
  assert.equal(names[0], 'fleet/history/mine.txt')
  assert.deepEqual(
    names.slice(1).map(name => store.objects.get(name)?.toString()),
    texts.slice(4, 14),
  )
  assert.match(names[10] ?? '', /^fleet\/history\/state-\d{13}-14\.json$/)
})

test('where the store keeps versions there is no history of ours', async () => {
  const { store, exports } = fresh(true)
  await exports.write(wished(1))
  await exports.write(wished(2))
  assert.deepEqual([...store.objects.keys()], [key])
})

test('a write of somebody else is never written over: the one with the lower epoch is told', async () => {
  const { exports, other, text } = fresh()
  const second = other()
  await exports.write(wished(7, 'a'))
  await second.read()
  await second.write(wished(8, 'a', 'b'))
  const theirs = text()
  const deposed = { code: 'deposed', message: /with epoch 8; ours is 7/, hint: /stop one/ }
  await assert.rejects(exports.write(wished(7, 'c')), deposed)
  await assert.rejects(exports.write(wished(7, 'c')), deposed)
  assert.equal(text(), theirs)
  // A leader that looks again at what stands there still has the lower epoch.
  await exports.read()
  await assert.rejects(exports.write(wished(7, 'c')), deposed)
  await exports.write(wished(9, 'c'))
})

test('a file that was changed by hand under us is not written over either', async () => {
  const { store, exports, text } = fresh()
  await exports.write(wished(1, 'a'))
  store.objects.set(key, Buffer.from(`${text()}\n`))
  await assert.rejects(exports.write(wished(1, 'b')), { code: 'deposed' })
  store.objects.set(key, Buffer.from('{'))
  await assert.rejects(exports.write(wished(1, 'b')), { code: 'state-corrupt' })
  store.objects.set(key, Buffer.from('{"v":2}'))
  await assert.rejects(exports.write(wished(1, 'b')), { code: 'state-version' })
})

test('what cannot be read is never written over, from the start on', async () => {
  const { store, exports } = fresh()
  store.objects.set(key, Buffer.from([0xff, 0xfe]))
  await assert.rejects(exports.read(), { code: 'state-corrupt', message: /UTF-8/ })
  await assert.rejects(exports.write(wished(1)), { code: 'state-corrupt' })
  assert.equal(store.objects.get(key)?.length, 2)
})

test('a file that was taken away is written anew from what we know', async () => {
  const { store, exports, text } = fresh()
  await exports.write(wished(1, 'a'))
  store.objects.delete(key)
  await exports.write(wished(1, 'a', 'b'))
  assert.match(text() ?? '', /"b"/)
})

test('a write whose answer was lost is done, and nobody is told that it failed', async () => {
  const { store, exports, text } = fresh()
  await exports.write(wished(1, 'a'))
  store.loseNextAnswer(/state\.json/)
  await exports.write(wished(1, 'b'))
  assert.match(text() ?? '', /"b"/)
  await exports.write(wished(1, 'c'))
  assert.match(text() ?? '', /"c"/)
})

test('a lost answer with the store away after it is told as away, and the next write goes over what arrived', async () => {
  const { store, wallMs } = fresh()
  let isAway = false
  const flaky: ObjectStore = {
    ...store,
    async get(...asked) {
      if (isAway) throw new MillraceError('store-away', 'cut off')
      return store.get(...asked)
    },
  }
  const exports = stateExports(flaky, { clock: { wallMs }, keepsVersions: false })
  await exports.write(wished(1, 'a'))
  store.loseNextAnswer(/state\.json$/)
  isAway = true
  await assert.rejects(exports.write(wished(1, 'b')), { code: 'store-away' })
  isAway = false
  const flows = () => Object.keys(JSON.parse(store.objects.get(key)?.toString() ?? '').flows)
  assert.deepEqual(flows(), ['b'])
  // Nothing has changed for us, yet it must be written: what arrived says otherwise.
  await exports.write(wished(1, 'a'))
  assert.deepEqual(flows(), ['a'])
})

for (const code of ['store-away', 'store-full', 'store-denied'] as const) {
  test(`${code} is told, and the file stays as it was`, async () => {
    const { store, exports, text } = fresh()
    await exports.write(wished(1, 'a'))
    const before = text()
    store.failNextPut(code, /^fleet\/state\.json$/)
    await assert.rejects(exports.write(wished(1, 'b')), { code })
    assert.equal(text(), before)
    store.failNextPut(code, /history/)
    await assert.rejects(exports.write(wished(1, 'b')), { code })
    assert.equal(text(), before)
    store.failAll(code)
    await assert.rejects(exports.write(wished(1, 'b')), { code })
    await assert.rejects(exports.read(), { code })
    store.failAll(null)
    await exports.write(wished(1, 'b'))
    assert.match(text() ?? '', /"b"/)
  })
}

test('an export is put aside under its epoch, byte for byte, and a later one does not replace it', async () => {
  const { store, exports, text } = fresh()
  assert.equal(await exports.putAside(7), false)
  await exports.write(wished(7, 'a'))
  const first = text()
  assert.equal(await exports.putAside(7), true)
  await exports.write(wished(7))
  assert.equal(await exports.putAside(7), true)
  assert.equal(store.objects.get('fleet/state-7.json')?.toString(), first)
})
