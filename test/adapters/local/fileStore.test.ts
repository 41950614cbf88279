import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { machineClock } from '../../../engine/adapters/local/clock.ts'
import { fileStore } from '../../../engine/adapters/local/fileStore.ts'
import { storeListMax } from '../../../engine/limits.ts'
import { storeContract } from '../../contracts/store.ts'

const folder = mkdtempSync(join(tmpdir(), 'millrace-store-'))
after(() => rmSync(folder, { recursive: true }))
const clock = machineClock()
let stores = 0
function fresh() {
  const root = join(folder, String(++stores))
  mkdirSync(root)
  return { root, store: fileStore(root, { clock, chance: Math.random }) }
}
const text = (value: string) => Buffer.from(value)
const asRoot = process.getuid?.() === 0

storeContract('the contract of an object store holds for a folder', async () => {
  const { root, store } = fresh()
  return { store, wallMs: () => Date.now(), dispose: async () => rmSync(root, { recursive: true }) }
})

test('L-48: files are 0640 and folders 0750 whatever the mask of the process, with the group of the store', async () => {
  const mask = process.umask(0o077)
  try {
    const { root, store } = fresh()
    // A group that this user is in, or any when it is root.
    const group = asRoot ? 4_242 : (process.getgroups?.() ?? []).at(-1)
    chmodSync(root, 0o2750)
    if (group !== undefined) (await import('node:fs')).chownSync(root, -1, group)
    chmodSync(root, 0o2750)
    await store.put('logs/v1/a.jsonl', text('1'))
    const file = statSync(join(root, 'logs/v1/a.jsonl'))
    assert.equal(file.mode & 0o7777, 0o640)
    assert.equal(file.gid, statSync(root).gid)
    for (const path of ['logs', 'logs/v1']) {
      const made = statSync(join(root, path))
      assert.equal(made.mode & 0o777, 0o750)
      assert.equal(made.gid, statSync(root).gid)
    }
  } finally {
    process.umask(mask)
  }
})

test('ten thousand keys are listed once each, in order, and folders that cannot have any are not read', async () => {
  const { root, store } = fresh()
  const keys = Array.from({ length: 10_000 }, (_, n) => `data/${n % 10}/${n % 97}/${String(n).padStart(6, '0')}`)
  for (const key of keys) {
    mkdirSync(dirname(join(root, key)), { recursive: true })
    writeFileSync(join(root, key), '')
  }
  const found: string[] = []
  let pages = 0
  for (let more = true; more; pages++) {
    const listed = await store.list('data/', found.at(-1))
    found.push(...listed.objects.map(one => one.key))
    more = listed.more
  }
  assert.equal(pages, 10_000 / storeListMax)
  assert.deepEqual(found, keys.sort())
  assert.equal((await store.list('data/3/1')).objects.length, keys.filter(key => key.startsWith('data/3/1')).length)
})

test('what is ours in the folder, links, pipes and what is being written are no objects', async () => {
  const { root, store } = fresh()
  await store.put('a', text('1'))
  mkdirSync(join(root, 'empty'))
  symlinkSync('a', join(root, 'link'))
  assert.ok(existsSync(join(root, '.millrace')))
  assert.deepEqual(
    (await store.list('')).objects.map(one => one.key),
    ['a'],
  )
})

test('nobody is led out of a store by a link in it', async () => {
  const { root, store } = fresh()
  const outside = join(folder, 'outside')
  mkdirSync(outside)
  writeFileSync(join(outside, 'secret'), 'x')
  symlinkSync(outside, join(root, 'way'))
  symlinkSync(join(outside, 'secret'), join(root, 'file'))
  const refused = { code: 'store-denied', message: /through a link/ }
  await assert.rejects(store.get('way/secret'), refused)
  await assert.rejects(store.get('file'), refused)
  await assert.rejects(store.put('way/new', text('x')), refused)
  await assert.rejects(store.put('way/new', text('x'), { ifNoneMatch: '*' }), refused)
  await assert.rejects(store.delete('way/secret'), refused)
  await assert.rejects(store.list('way/'), refused)
  assert.deepEqual(readdirSync(outside), ['secret'])
  assert.deepEqual(readdirSync(join(root, '.millrace/aside')), [])
})

test('a store may be named by a link', async () => {
  const { root } = fresh()
  const name = join(folder, 'name')
  symlinkSync(root, name)
  const store = fileStore(name, { clock, chance: Math.random })
  await store.put('a/b', text('1'))
  assert.equal((await store.get('a/b'))?.body.toString(), '1')
  assert.ok(existsSync(join(root, 'a/b')))
})

test('a key that is the folder of another is refused, and nothing is left behind', async () => {
  const { root, store } = fresh()
  await store.put('a/b', text('1'))
  const refused = { code: 'config-invalid', message: /where a folder is needed, or is a folder/ }
  await assert.rejects(store.put('a', text('2')), refused)
  await assert.rejects(store.put('a/b/c', text('2')), refused)
  assert.equal((await store.get('a/b'))?.body.toString(), '1')
  assert.deepEqual(readdirSync(join(root, '.millrace/aside')), [])
})

test('the folder itself is never made: gone, it is store-away, and back it works again', async () => {
  const { root, store } = fresh()
  await store.put('a', text('1'))
  rmSync(root, { recursive: true })
  const gone = { code: 'store-away', retryable: true, message: /is not there/, hint: /mounted/ }
  await assert.rejects(store.put('a', text('2')), gone)
  await assert.rejects(store.get('a'), gone)
  await assert.rejects(store.head('a'), gone)
  await assert.rejects(store.list(''), gone)
  await assert.rejects(store.delete('a'), gone)
  assert.ok(!existsSync(root))
  mkdirSync(root)
  assert.equal(await store.get('a'), null)
  assert.ok((await store.put('a', text('3'), { ifNoneMatch: '*' })).done)
})

test('a store that is a file is store-away', async () => {
  const path = join(folder, 'plain')
  writeFileSync(path, '')
  await assert.rejects(fileStore(path, { clock, chance: Math.random }).get('a'), { code: 'store-away' })
})

test('a folder that this user may not use is store-denied', { skip: asRoot ? 'root may' : false }, async () => {
  const { root, store } = fresh()
  await store.put('a', text('1'))
  chmodSync(root, 0o500)
  await assert.rejects(store.put('b/c', text('1')), { code: 'store-denied', retryable: false })
  chmodSync(root, 0)
  await assert.rejects(store.get('a'), { code: 'store-denied', hint: /group/ })
  chmodSync(root, 0o700)
})

test('what a killed process left half written goes after an hour, what is young stays', async () => {
  const { root, store } = fresh()
  mkdirSync(join(root, '.millrace/aside'), { recursive: true })
  const old = join(root, '.millrace/aside/old')
  const young = join(root, '.millrace/aside/young')
  writeFileSync(old, 'half')
  writeFileSync(young, 'half')
  const before = Date.now() / 1_000 - 3_700
  utimesSync(old, before, before)
  await store.put('a', text('1'))
  assert.deepEqual([existsSync(old), existsSync(young)], [false, true])
  assert.ok(lstatSync(join(root, 'a')).isFile())
})
