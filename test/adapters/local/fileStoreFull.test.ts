import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { withSmallDisk, withSmallFiles } from './smallDisk.ts'
import { type StoreProcess, storeProcess } from './storeProcess.ts'

const folder = mkdtempSync(join(tmpdir(), 'millrace-full-'))
after(() => rmSync(folder, { recursive: true }))
const disk = join(folder, 'disk')
mkdirSync(disk)
const small = withSmallDisk(disk, 256)

async function using(one: StoreProcess, work: (one: StoreProcess) => Promise<void>): Promise<void> {
  try {
    await work(one)
  } finally {
    await one.end()
  }
}

test('on a full disk a put is store-full and changes nothing; with space again it is done', {
  skip: small ? false : 'this user may not have a disk of his own',
}, async () => {
  await using(storeProcess(disk, { around: small ?? [] }), async one => {
    const put = (key: string, fill: string, bytes: number) => one.ask({ do: 'put', key, fill, bytes })
    assert.partialDeepStrictEqual(await put('fleet/state.json', 'o', 20_000), { ok: { done: true } })
    let ballast = 0
    for (let n = 0; n < 100; n++) {
      const told = await put(`ballast/${n}`, 'b', 16_000)
      if ('code' in told) {
        assert.equal(told.code, 'store-full')
        assert.match(told.message, /put ballast\/\d+ in file:.*no space is left/)
        break
      }
      ballast++
    }
    assert.ok(ballast > 5 && ballast < 20, `${ballast}`)
    assert.partialDeepStrictEqual(await put('fleet/state.json', 'n', 20_000), { code: 'store-full' })
    const old = { ok: { bytes: 20_000, fill: 'o', whole: true } }
    assert.deepEqual(await one.ask({ do: 'get', key: 'fleet/state.json' }), old)
    // What was half written took no space after it: what is smaller still fits, again and again.
    const free = await put('ballast/last', 'b', 100)
    for (let n = 0; n < 5; n++)
      assert.partialDeepStrictEqual(await put('fleet/state.json', 'n', 20_000), { code: 'store-full' })
    assert.partialDeepStrictEqual(free, { ok: { done: true } })
    const listed = await one.ask({ do: 'list' })
    assert.ok('ok' in listed)
    assert.equal((listed.ok as unknown[]).length, ballast + 2)

    await one.ask({ do: 'delete', key: 'ballast/0' })
    await one.ask({ do: 'delete', key: 'ballast/1' })
    assert.partialDeepStrictEqual(await put('fleet/state.json', 'n', 20_000), { ok: { done: true } })
    const now = { ok: { bytes: 20_000, fill: 'n', whole: true } }
    assert.deepEqual(await one.ask({ do: 'get', key: 'fleet/state.json' }), now)
  })
})

test('a file that may not become so large is store-full too, and what was there stands', async () => {
  const root = join(folder, 'limited')
  mkdirSync(root)
  await using(storeProcess(root, { around: withSmallFiles(64) }), async one => {
    const put = (fill: string, bytes: number) => one.ask({ do: 'put', key: 'a', fill, bytes })
    assert.partialDeepStrictEqual(await put('o', 1_000), { ok: { done: true } })
    assert.partialDeepStrictEqual(await put('n', 200_000), { code: 'store-full' })
    assert.deepEqual(await one.ask({ do: 'get', key: 'a' }), { ok: { bytes: 1_000, fill: 'o', whole: true } })
    assert.deepEqual(readdirSync(join(root, '.millrace/aside')), [])
  })
})
