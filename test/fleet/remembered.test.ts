import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { machineClock } from '../../engine/adapters/local/clock.ts'
import { fileStore } from '../../engine/adapters/local/fileStore.ts'
import { memoryCoordinator } from '../../engine/adapters/memory/coordinator.ts'
import { memoryTree } from '../../engine/adapters/memory/tree.ts'
import { writeEpoch } from '../../engine/fleet/decide/documents/epoch.ts'
import { stateExports } from '../../engine/fleet/exports.ts'
import { remembering } from '../../engine/fleet/remembered.ts'
import type { Op } from '../../engine/ports/coordinator.ts'
import type { ObjectStore } from '../../engine/ports/store.ts'
import { coordinatorContract } from '../contracts/coordinator.ts'
import { fakeStore } from '../fakes/store.ts'

const clock = machineClock()
const key = 'fleet/state.json'
const doc = (n: number) => `{"n":${n},"v":1}`
const create = (path: string, data: string): Op => ({ do: 'create', path, data, mode: 'persistent' })
const set = (path: string, data: string, version: number | null = null): Op => ({ do: 'set', path, data, version })

/** A process that starts with an empty memory over a store. */
function started(store: ObjectStore) {
  const exports = stateExports(store, { clock, keepsVersions: false })
  const tree = memoryTree()
  let sessions = 0
  const open = () => remembering(memoryCoordinator(tree, { session: `s${++sessions}`, timeoutMs: 10_000 }), exports)
  return { tree, exports, open, memory: open() }
}

function fresh() {
  const store = fakeStore(clock)
  const file = () => JSON.parse(store.objects.get(key)?.toString() ?? 'null')
  return { store, file, ...started(store) }
}

let sessions = 0
coordinatorContract('the contract of a coordinator holds in a memory that a store remembers', async () => {
  const tree = memoryTree()
  const exports = stateExports(fakeStore(clock), { clock, keepsVersions: false })
  return {
    open: async () => remembering(memoryCoordinator(tree, { session: `m${++sessions}`, timeoutMs: 10_000 }), exports),
    dispose: async () => {},
  }
})

test('C-66: what people change is in the store when it is answered, and is there after a start', async () => {
  const { store, memory, file } = fresh()
  assert.equal(await memory.restore(), 0)
  assert.equal(file(), null)
  await memory.write([create('/flows/clicks', doc(1)), create('/wishes', doc(2))])
  assert.deepEqual([file().flows, file().wishes, file().logging], [{ clicks: { n: 1, v: 1 } }, { n: 2, v: 1 }, null])
  await memory.write([
    set('/flows/clicks', doc(3), 0),
    create('/logging', doc(4)),
    { do: 'remove', path: '/wishes', version: 0 },
  ])
  await memory.write([create('/epoch', writeEpoch({ epoch: 7, leader: 'c-1', atMs: 5 }))])
  assert.deepEqual([file().epoch, file().flows.clicks.n, file().logging.n, file().wishes], [7, 3, 4, null])

  const next = started(store)
  assert.equal(await next.memory.restore(), 7)
  assert.equal((await next.memory.read('/flows/clicks'))?.data, doc(3))
  assert.equal((await next.memory.read('/logging'))?.data, doc(4))
  assert.equal(await next.memory.read('/wishes'), null)
  // Who takes office writes it, above the one that was found.
  assert.equal(await next.memory.read('/epoch'), null)
  await next.memory.write([create('/flows/b', doc(5))])
  assert.deepEqual([file().epoch, Object.keys(file().flows)], [7, ['b', 'clicks']])
})

test('the store is written before anybody can see the change', async () => {
  const { store, memory, tree } = fresh()
  await memory.restore()
  let seen: unknown = 'not asked'
  store.beforeNextPut(() => {
    seen = tree.read('/flows/a')
  })
  await memory.write([create('/flows/a', doc(1))])
  assert.equal(seen, null)
  assert.equal(tree.read('/flows/a')?.data, doc(1))
})

for (const code of ['store-away', 'store-full', 'store-denied'] as const) {
  test(`C-66: with ${code} a change is refused with that code, memory is as before, and nobody gets a hint`, async () => {
    const { store, memory, file } = fresh()
    await memory.write([create('/flows/a', doc(1))])
    const before = await memory.read('/flows/a')
    const hints: string[] = []
    const off = new AbortController()
    memory.watch('/flows/a', 'data', () => hints.push('data'), off.signal)
    memory.watch('/flows', 'children', () => hints.push('children'), off.signal)
    store.failAll(code)
    await assert.rejects(memory.write([set('/flows/a', doc(2), 0)]), { code })
    await assert.rejects(memory.write([create('/flows/b', doc(2))]), { code })
    assert.deepEqual(await memory.read('/flows/a'), before)
    assert.deepEqual(await memory.children('/flows'), ['a'])
    assert.deepEqual(hints, [])
    // What nobody remembers is written as ever: data flows on.
    assert.ok((await memory.write([create('/workers', ''), create('/workers/w-1', doc(1))])).done)
    assert.equal(await memory.beat('/workers/w-1', doc(1), 0), 1)
    store.failAll(null)
    assert.ok((await memory.write([set('/flows/a', doc(2), 0)])).done)
    assert.equal(file().flows.a.n, 2)
    off.abort()
  })
}

test('what is refused in memory is not stored, and who asked is told why', async () => {
  const { store, memory } = fresh()
  await memory.write([create('/flows/a', doc(1))])
  const puts = store.puts.length
  const refused = async (...ops: Op[]) => {
    const written = await memory.write(ops)
    return written.done ? 'done' : written.refused
  }
  assert.deepEqual(await refused(set('/flows/a', doc(2), 9)), { index: 0, why: 'changed' })
  assert.deepEqual(await refused(create('/flows/a', doc(2))), { index: 0, why: 'exists' })
  assert.deepEqual(await refused(set('/flows/b', doc(2))), { index: 0, why: 'missing' })
  assert.deepEqual(await refused(create('/flows/c', doc(1)), { do: 'check', path: '/flows/a', version: 3 }), {
    index: 1,
    why: 'changed',
  })
  assert.deepEqual(await refused(create('/flows/c', doc(1)), create('/none/below', '')), { index: 1, why: 'missing' })
  const twice = await refused(create('/flows/c', doc(1)), set('/flows/c', doc(2), 1))
  assert.deepEqual(twice, { index: 1, why: 'changed' })
  assert.equal(store.puts.length, puts)
  await assert.rejects(memory.write([create('/flows/d', 'x'.repeat(1_100_000))]), { code: 'too-large' })
  await assert.rejects(memory.write([create('/flows/d', 'no JSON')]), { code: 'state-corrupt' })
  assert.equal(store.puts.length, puts)
  assert.equal(await refused(create('/flows/c', doc(1)), set('/flows/c', doc(2), 0)), 'done')
})

test('a refusal that could not be foreseen leaves nothing of it in the store', async () => {
  const { memory, file } = fresh()
  await memory.write([create('/workers', ''), create('/workers/w-1', doc(1)), create('/flows/a', doc(1))])
  const written = await memory.write([set('/flows/a', doc(2)), { do: 'remove', path: '/workers', version: null }])
  assert.deepEqual(written, { done: false, refused: { index: 1, why: 'not-empty' } })
  assert.equal(file().flows.a.n, 1)
})

test('a hundred changes at once, over two sessions, are all there', async () => {
  const { store, open, memory, file } = fresh()
  const other = open()
  await Promise.all(
    Array.from({ length: 100 }, (_, n) => (n % 2 ? memory : other).write([create(`/flows/f-${n}`, doc(n))])),
  )
  assert.equal(Object.keys(file().flows).length, 100)
  const next = started(store)
  await next.memory.restore()
  assert.equal((await next.memory.children('/flows')).length, 100)
})

test('nothing can be changed before what is in the store was read: it would be written over', async () => {
  const { store, memory } = fresh()
  await memory.write([create('/flows/a', doc(1))])
  const next = started(store)
  store.failAll('store-away')
  await assert.rejects(next.memory.restore(), { code: 'store-away' })
  await assert.rejects(next.memory.write([create('/flows', ''), create('/flows/b', doc(1))]), { code: 'store-away' })
  store.failAll(null)
  await next.memory.write([create('/flows/b', doc(1))])
  assert.deepEqual((await next.memory.children('/flows')).sort(), ['a', 'b'])
})

test('a second session restores nothing anew: no tag changes', async () => {
  const { open, memory } = fresh()
  await memory.write([create('/flows/a', doc(1))])
  const before = await memory.read('/flows/a')
  await open().restore()
  assert.deepEqual(await memory.read('/flows/a'), before)
})

test('a file that cannot be read, or is of a newer version, stops the restore and is left alone', async () => {
  for (const [text, code] of [
    ['{', 'state-corrupt'],
    ['{"v":2}', 'state-version'],
  ] as const) {
    const { store, memory } = fresh()
    store.objects.set(key, Buffer.from(text))
    await assert.rejects(memory.restore(), { code })
    await assert.rejects(memory.write([create('/wishes', doc(1))]), { code })
    assert.equal(store.objects.get(key)?.toString(), text)
  }
})

test('of two processes with one store the first is told when the second has taken office', async () => {
  const { store, memory } = fresh()
  const epoch = (n: number) => [create('/epoch', writeEpoch({ epoch: n, leader: 'c', atMs: 1 }))]
  await memory.write(epoch((await memory.restore()) + 1))
  const second = started(store).memory
  await second.write(epoch((await second.restore()) + 1))
  await assert.rejects(memory.write([create('/wishes', doc(1))]), { code: 'deposed', message: /epoch 2; ours is 1/ })
  assert.equal(await memory.read('/wishes'), null)
  assert.ok((await second.write([create('/wishes', doc(1))])).done)
})

test('a change whose answer from the store was lost is done once', async () => {
  const { store, memory, file } = fresh()
  await memory.restore()
  store.loseNextAnswer(/^fleet\/state\.json$/)
  assert.ok((await memory.write([create('/flows/a', doc(1))])).done)
  assert.equal((await memory.read('/flows/a'))?.data, doc(1))
  assert.deepEqual(Object.keys(file().flows), ['a'])
})

test('a session that is closed changes nothing, in the store neither', async () => {
  const { store, memory } = fresh()
  await memory.write([create('/flows/a', doc(1))])
  const puts = store.puts.length
  await memory.close()
  await assert.rejects(memory.write([create('/flows/b', doc(1))]), { code: 'session-lost' })
  assert.equal(store.puts.length, puts)
})

test('names such as __proto__ and 10 in a document come back as they were', async () => {
  const { store, memory } = fresh()
  const data = '{"overlay":{"topics":{"10":"in","9":"in","__proto__":"out"}},"v":1}'
  await memory.write([create('/flows/a', data)])
  const next = started(store).memory
  await next.restore()
  assert.equal((await next.read('/flows/a'))?.data, data)
})

test('more than one write takes is restored all the same', async () => {
  const { store, memory } = fresh()
  await memory.restore()
  const large = `{"text":"${'x'.repeat(250_000)}","v":1}`
  for (let n = 0; n < 6; n++) await memory.write([create(`/flows/f-${n}`, large)])
  const next = started(store).memory
  await next.restore()
  assert.equal((await next.children('/flows')).length, 6)
})

test('C-66: a folder as the store: gone, changes fail and memory stands; back, they are done and outlive a start', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-remembered-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const store = fileStore(folder, { clock, chance: Math.random })
  const { memory } = started(store)
  await memory.write([create('/flows/a', doc(1))])
  renameSync(folder, `${folder}.gone`)
  await assert.rejects(memory.write([set('/flows/a', doc(2))]), { code: 'store-away' })
  assert.equal((await memory.read('/flows/a'))?.data, doc(1))
  renameSync(`${folder}.gone`, folder)
  assert.ok((await memory.write([set('/flows/a', doc(3), 0)])).done)
  const text = readFileSync(join(folder, key), 'utf8')
  assert.match(text, /"flows":\{"a":\{"n":3,"v":1\}\}/)
  const next = started(fileStore(folder, { clock, chance: Math.random })).memory
  await next.restore()
  assert.equal((await next.read('/flows/a'))?.data, doc(3))
})
