import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { machineClock } from '../../../engine/adapters/local/clock.ts'
import { fileStore } from '../../../engine/adapters/local/fileStore.ts'
import { type StoreProcess, storeProcess } from './storeProcess.ts'

const folder = mkdtempSync(join(tmpdir(), 'millrace-stores-'))
after(() => rmSync(folder, { recursive: true, force: true }))
let stores = 0
function freshRoot(): string {
  const root = join(folder, String(++stores))
  mkdirSync(root)
  return root
}
const storeAt = (root: string) => fileStore(root, { clock: machineClock(), chance: Math.random })

/** Processes that are ended with the test, however it ends. */
async function using(processes: StoreProcess[], work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } finally {
    await Promise.all(processes.map(one => one.end()))
  }
}

test('of four processes that create one key at once, one does and three are told that it exists', async () => {
  const root = freshRoot()
  const processes = Array.from({ length: 4 }, () => storeProcess(root))
  await using(processes, async () => {
    for (let round = 0; round < 40; round++) {
      const told = await Promise.all(
        processes.map((one, n) =>
          one.ask({ do: 'put', key: `race/${round}`, fill: `${n}`, bytes: 5_000, only: { ifNoneMatch: '*' } }),
        ),
      )
      const done = told.map(one => 'ok' in one && (one.ok as { done: boolean }).done)
      assert.equal(done.filter(Boolean).length, 1, JSON.stringify(told))
      const others = told.filter((_, n) => !done[n])
      assert.deepEqual(others, Array(3).fill({ ok: { done: false, why: 'exists' } }))
      const got = await processes[0]?.ask({ do: 'get', key: `race/${round}` })
      assert.deepEqual(got, { ok: { bytes: 5_000, fill: `${done.indexOf(true)}`, whole: true } })
    }
  })
})

test('four processes that each add one a hundred times over what they read lose none', async () => {
  const root = freshRoot()
  const store = storeAt(root)
  await store.put('number', Buffer.from('0'))
  const processes = Array.from({ length: 4 }, () => storeProcess(root))
  await using(processes, async () => {
    const told = await Promise.all(processes.map(one => one.ask({ do: 'count', key: 'number', times: 100 })))
    const late = told.map(one => ('ok' in one ? Number(one.ok) : assert.fail(one.message)))
    assert.equal((await store.get('number'))?.body.toString(), '400')
    // They did meet, or this shows nothing.
    assert.ok(late.reduce((sum, one) => sum + one, 0) > 0)
  })
})

test('a process killed while it puts leaves what was there or what it put, nothing torn and no lock', async () => {
  const root = freshRoot()
  const keys = ['a/1', 'a/2', 'b']
  const bytes = 1_000_000
  const reader = storeProcess(root)
  await using([reader], async () => {
    for (let round = 0; round < 12; round++) {
      const writer = storeProcess(root)
      await using([writer], async () => {
        await writer.ask({ do: 'forever', keys, bytes })
        // Any moment will do; chance finds the odd ones.
        await wait(20 + Math.random() * 60)
      })
      for (const key of keys) {
        const told = await reader.ask({ do: 'get', key })
        assert.ok('ok' in told)
        if (told.ok !== null) assert.partialDeepStrictEqual(told.ok, { bytes, whole: true })
      }
      const listed = await reader.ask({ do: 'list' })
      assert.ok('ok' in listed)
      assert.ok(
        (listed.ok as { key: string; bytes: number }[]).every(one => keys.includes(one.key) && one.bytes === bytes),
      )
      const put = await reader.ask({ do: 'put', key: 'b', fill: 'r', bytes })
      assert.partialDeepStrictEqual(put, { ok: { done: true } })
    }
  })
})

test('a process that holds the lock for ever is store-away to others, and once it is killed they go on', async () => {
  const root = freshRoot()
  const holder = storeProcess(root)
  await using([holder], async () => {
    assert.deepEqual(await storeProcessReady(holder), { ok: 'held' })
    let nowMs = 0
    // Three seconds a look: nobody waits for five real ones.
    const clock = { ...machineClock(), nowMs: () => (nowMs += 3_000) }
    const store = fileStore(root, { clock, chance: Math.random })
    await assert.rejects(store.put('a', Buffer.from('1')), { code: 'store-away', message: /another process holds/ })
    await assert.rejects(store.delete('a'), { code: 'store-away', retryable: true })
    assert.equal(await store.get('a'), null)
    await holder.end()
    assert.ok((await store.put('a', Buffer.from('2'))).done)
  })
})

async function storeProcessReady(holder: StoreProcess) {
  // Its first put makes the folder of the lock.
  await holder.ask({ do: 'put', key: 'first', fill: 'x', bytes: 1 })
  return holder.ask({ do: 'hold' })
}

/** Another user can only be had by root; it must be able to run what we run. */
const nobody = 65_534
const asNobody =
  process.getuid?.() === 0 && spawnSync(process.execPath, ['--version'], { uid: nobody, gid: nobody }).status === 0

test('another user is denied what the modes deny him', { skip: asNobody ? false : 'only root can' }, async () => {
  const root = freshRoot()
  chmodSync(folder, 0o755)
  await storeAt(root).put('a/b', Buffer.from('x'))
  const other = storeProcess(root, { uid: nobody })
  await using([other], async () => {
    chmodSync(root, 0o750)
    for (const verb of ['get', 'delete'] as const) {
      assert.partialDeepStrictEqual(await other.ask({ do: verb, key: 'a/b' }), { code: 'store-denied' })
    }
    assert.partialDeepStrictEqual(await other.ask({ do: 'list' }), { code: 'store-denied' })
    chmodSync(root, 0o755)
    assert.partialDeepStrictEqual(await other.ask({ do: 'get', key: 'a/b' }), { code: 'store-denied' })
    const put = await other.ask({ do: 'put', key: 'c', fill: 'x', bytes: 1 })
    assert.partialDeepStrictEqual(put, { code: 'store-denied' })
  })
})
