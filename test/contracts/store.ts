import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { storeListMax } from '../../engine/limits.ts'
import type { ObjectStore } from '../../engine/ports/store.ts'

/** A store that is empty at first; `wallMs` is the time that it must tell, to a minute. */
export type StoreUnderTest = { store: ObjectStore; wallMs(): number; dispose(): Promise<void> }

const text = (value: string) => Buffer.from(value)

/** What every object store keeps (DESIGN §6): one suite for the adapters and the fake. */
export function storeContract(name: string, fresh: () => Promise<StoreUnderTest>): void {
  const using = async (work: (store: ObjectStore, under: StoreUnderTest) => Promise<void>) => {
    const under = await fresh()
    try {
      await work(under.store, under)
    } finally {
      await under.dispose()
    }
  }
  const bodyOf = async (store: ObjectStore, key: string) => (await store.get(key))?.body.toString() ?? null

  describe(name, () => {
    it('what was put is read as it was, any bytes, none too, and replaced as a whole', () =>
      using(async store => {
        const bytes = Buffer.from(Array.from({ length: 3_000_000 }, (_, at) => (at * 31) % 256))
        for (const body of [bytes, Buffer.alloc(0), text('short')]) {
          const put = await store.put('a/b.bin', body)
          assert.ok(put.done)
          const got = await store.get('a/b.bin')
          assert.ok(got?.body.equals(body))
          assert.deepEqual([got?.bytes, got?.tag], [body.length, put.tag])
          assert.deepEqual(await store.head('a/b.bin'), { bytes: body.length, tag: put.tag })
        }
      }))

    it('what is not there is null, and deleting it is no fault', () =>
      using(async store => {
        assert.equal(await store.get('none'), null)
        assert.equal(await store.head('a/none'), null)
        await store.delete('a/none')
        await store.put('a/b', text('1'))
        assert.equal(await store.get('a'), null)
        assert.equal(await store.get('a/b/c'), null)
        await store.delete('a/b')
        await store.delete('a/b')
        assert.equal(await store.get('a/b'), null)
        assert.ok((await store.put('a', text('2'))).done)
      }))

    it('of a range there is what there is of it; size and tag are of the whole', () =>
      using(async store => {
        const put = await store.put('digits', text('0123456789'))
        assert.ok(put.done)
        const piece = async (from: number, bytes: number) => {
          const got = await store.get('digits', { from, bytes })
          assert.deepEqual([got?.bytes, got?.tag], [10, put.tag])
          return got?.body.toString()
        }
        assert.deepEqual(
          [await piece(0, 3), await piece(7, 9), await piece(10, 1), await piece(99, 1), await piece(4, 0)],
          ['012', '789', '', '', ''],
        )
        assert.equal(await store.get('none', { from: 0, bytes: 1 }), null)
      }))

    it('a second create is told that it exists, and changes nothing', () =>
      using(async store => {
        assert.ok((await store.put('a', text('1'), { ifNoneMatch: '*' })).done)
        assert.deepEqual(await store.put('a', text('2'), { ifNoneMatch: '*' }), { done: false, why: 'exists' })
        assert.equal(await bodyOf(store, 'a'), '1')
        await store.delete('a')
        assert.ok((await store.put('a', text('3'), { ifNoneMatch: '*' })).done)
      }))

    it('a stale tag, and a tag for what is gone, is told that it changed', () =>
      using(async store => {
        const first = await store.put('a', text('1'))
        assert.ok(first.done)
        const second = await store.put('a', text('2'), { ifMatch: first.tag })
        assert.ok(second.done)
        assert.notEqual(second.tag, first.tag)
        const changed = { done: false, why: 'changed' }
        assert.deepEqual(await store.put('a', text('3'), { ifMatch: first.tag }), changed)
        assert.equal(await bodyOf(store, 'a'), '2')
        await store.delete('a')
        assert.deepEqual(await store.put('a', text('3'), { ifMatch: second.tag }), changed)
        assert.deepEqual(await store.put('b', text('3'), { ifMatch: second.tag }), changed)
        assert.equal(await store.get('a'), null)
      }))

    it('of many that write at once under one condition, one does', () =>
      using(async store => {
        const race = async (only: { ifNoneMatch: '*' } | { ifMatch: string }, not: 'exists' | 'changed') => {
          const all = await Promise.all(Array.from({ length: 8 }, (_, n) => store.put('a', text(`${n}`), only)))
          const done = all.flatMap((put, n) => (put.done ? [{ n, tag: put.tag }] : []))
          assert.equal(done.length, 1)
          assert.ok(all.every(put => put.done || put.why === not))
          assert.equal(await bodyOf(store, 'a'), `${done[0]?.n}`)
          return done[0]?.tag ?? ''
        }
        const tag = await race({ ifNoneMatch: '*' }, 'exists')
        // Each of the others would write what is not there now, or what one of them has written already.
        await store.put('a', text('again'), { ifMatch: tag })
        await race({ ifMatch: (await store.head('a'))?.tag ?? '' }, 'changed')
      }))

    it('keys are listed by code unit, below a prefix that may end anywhere, after a key that need not be there', () =>
      using(async (store, under) => {
        const keys = ['a', 'a!b', 'a-b/c', 'a.b', 'a0/b', 'a0/c/d', 'b/%C3%A4', 'b/x', 'b/x-y/1', 'b/x.y', 'z']
        for (const key of keys.toReversed()) await store.put(key, text(key))
        const list = async (prefix: string, after?: string) => {
          const listed = await store.list(prefix, after)
          assert.equal(listed.more, false)
          assert.ok(Math.abs(listed.nowMs - under.wallMs()) < 60_000)
          assert.ok(listed.objects.every(one => one.bytes === one.key.length))
          return listed.objects.map(one => one.key)
        }
        assert.deepEqual(await list(''), keys)
        assert.deepEqual(await list('a0'), ['a0/b', 'a0/c/d'])
        assert.deepEqual(await list('b/x'), ['b/x', 'b/x-y/1', 'b/x.y'])
        assert.deepEqual(await list('b/x/'), [])
        assert.deepEqual(await list('none/of/these'), [])
        for (const after of [...keys, 'a0', 'a0/', 'a0/b0', 'a0/c/', 'b', 'b/x-', 'b/x-y/', 'zz', 'Z']) {
          assert.deepEqual(
            await list('', after),
            keys.filter(key => key > after),
            after,
          )
        }
        assert.deepEqual(await list('b/', 'b/x'), ['b/x-y/1', 'b/x.y'])
        assert.deepEqual(await list('b/', 'a'), ['b/%C3%A4', 'b/x', 'b/x-y/1', 'b/x.y'])
      }))

    it('a long list comes in pages, each key once', () =>
      using(async store => {
        const keys = Array.from({ length: storeListMax + 5 }, (_, n) => `p/${n % 7}/${String(n).padStart(5, '0')}`)
        for (let at = 0; at < keys.length; at += 32)
          await Promise.all(keys.slice(at, at + 32).map(key => store.put(key, text(''))))
        const first = await store.list('p/')
        assert.deepEqual([first.objects.length, first.more], [storeListMax, true])
        const second = await store.list('p/', first.objects.at(-1)?.key ?? '')
        assert.equal(second.more, false)
        assert.deepEqual(
          [...first.objects, ...second.objects].map(one => one.key),
          keys.sort(),
        )
      }))

    it('a key that would leave its place, or that not every store can keep, is refused by every verb', () =>
      using(async store => {
        const bad = ['', '/a', 'a/', 'a//b', '.', '..', '../a', 'a/../../b', 'a/./b', 'a\0b', 'a\nb', '\ud800']
        for (const key of [...bad, '.millrace/lock', 'a'.repeat(256), 'ab/'.repeat(342)]) {
          const refused = { code: 'config-invalid' }
          await assert.rejects(store.put(key, text('')), refused, key)
          await assert.rejects(store.get(key), refused, key)
          await assert.rejects(store.head(key), refused, key)
          await assert.rejects(store.delete(key), refused, key)
        }
        await assert.rejects(store.list('../'), { code: 'config-invalid' })
        await assert.rejects(store.list('a/../../'), { code: 'config-invalid' })
        for (const key of ['..a', 'a..', '...', 'ä 日本 😀', `${'a'.repeat(255)}/b`, 'C:\\x', '%2E%2E/%2F']) {
          assert.ok((await store.put(key, text(key))).done, key)
          assert.equal(await bodyOf(store, key), key)
        }
      }))
  })
}
