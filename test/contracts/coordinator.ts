import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Coordinator, Op } from '../../engine/ports/coordinator.ts'

/** Sessions over one set of documents that is empty at first; `open` gives another session of it. */
export type CoordinatorUnderTest = { open(): Promise<Coordinator>; dispose(): Promise<void> }

const create = (path: string, data = '', mode: 'persistent' | 'ephemeral' | 'sequential' = 'persistent'): Op => ({
  do: 'create',
  path,
  data,
  mode,
})

/** What every coordinator keeps (COORDINATION C-71): one suite for the adapters and the fakes. */
export function coordinatorContract(name: string, fresh: () => Promise<CoordinatorUnderTest>): void {
  const using = async (work: (under: CoordinatorUnderTest, one: Coordinator) => Promise<void>) => {
    const under = await fresh()
    try {
      await work(under, await under.open())
    } finally {
      await under.dispose()
    }
  }

  describe(name, () => {
    it('several operations are done all or not at all, and the first that could not is named', () =>
      using(async (_, one) => {
        assert.deepEqual(await one.write([create('/a', '1'), create('/a/b', '2')]), {
          done: true,
          paths: ['/a', '/a/b'],
          versions: [0, 0],
        })
        const refused = await one.write([create('/c'), { do: 'check', path: '/a', version: 1 }, create('/d')])
        assert.deepEqual(refused, { done: false, refused: { index: 1, why: 'changed' } })
        assert.deepEqual((await one.children('/')).sort(), ['a'])
        const why = async (op: Op) => {
          const written = await one.write([op])
          return written.done ? 'done' : written.refused.why
        }
        assert.equal(await why(create('/a')), 'exists')
        assert.equal(await why(create('/x/y')), 'missing')
        assert.equal(await why({ do: 'set', path: '/x', data: '', version: null }), 'missing')
        assert.equal(await why({ do: 'remove', path: '/a', version: null }), 'not-empty')
        assert.equal(await why({ do: 'remove', path: '/a/b', version: 3 }), 'changed')
        assert.equal(await why({ do: 'check', path: '/a', version: 0 }), 'done')
      }))

    it('a version is 0 after creation and one more with each write; a tag is never the same twice', () =>
      using(async (_, one) => {
        await one.write([create('/a', 'x')])
        const first = await one.read('/a')
        assert.deepEqual([first?.data, first?.version, first?.owner], ['x', 0, null])
        await one.write([{ do: 'set', path: '/a', data: 'y', version: 0 }])
        const second = await one.read('/a')
        assert.deepEqual([second?.data, second?.version, second?.created], ['y', 1, first?.created])
        await one.write([{ do: 'remove', path: '/a', version: 1 }])
        assert.equal(await one.read('/a'), null)
        await one.write([create('/a', 'x')])
        const again = await one.read('/a')
        assert.equal(again?.version, 0)
        assert.equal(new Set([first?.tag, second?.tag, again?.tag]).size, 3)
        assert.notEqual(again?.created, first?.created)
      }))

    it('what belongs to a session goes with it, and nothing hangs below it', () =>
      using(async (under, one) => {
        const other = await under.open()
        await other.write([create('/mine', '', 'ephemeral')])
        assert.equal((await one.read('/mine'))?.owner, other.state().session)
        assert.deepEqual(await one.write([create('/mine/below')]), {
          done: false,
          refused: { index: 0, why: 'missing' },
        })
        await other.close()
        assert.equal(await one.read('/mine'), null)
        assert.equal(other.state().phase, 'lost')
        await assert.rejects(other.write([create('/later')]), { code: 'session-lost' })
      }))

    it('numbers of sequential documents only grow, also over a deletion', () =>
      using(async (_, one) => {
        await one.write([create('/queue')])
        const made: string[] = []
        for (let n = 0; n < 3; n++) {
          const written = await one.write([create('/queue/candidate-', '', 'sequential')])
          assert.ok(written.done)
          made.push(written.paths[0] ?? '')
          await one.write([{ do: 'remove', path: written.paths[0] ?? '', version: null }])
        }
        assert.deepEqual(made, made.toSorted())
        assert.equal(new Set(made).size, 3)
      }))

    it('a watcher gets a hint after a change, of the path and the kind that it asked for', () =>
      using(async (under, one) => {
        const other = await under.open()
        await one.write([create('/a', '1')])
        const off = new AbortController()
        const hint = (path: string, kind: 'data' | 'children') =>
          new Promise<void>(resolve => one.watch(path, kind, resolve, off.signal))
        const data = hint('/a', 'data')
        const children = hint('/', 'children')
        await other.write([{ do: 'set', path: '/a', data: '2', version: 0 }])
        await data
        assert.equal((await one.read('/a'))?.data, '2')
        await other.write([create('/b')])
        await children
        off.abort()
      }))

    it('of two that write over one version, one is told that it changed', () =>
      using(async (under, one) => {
        const other = await under.open()
        await one.write([create('/a', '')])
        const set = (data: string): Op[] => [{ do: 'set', path: '/a', data, version: 0 }]
        const both = await Promise.all([one.write(set('1')), other.write(set('2'))])
        assert.deepEqual(both.map(written => written.done).sort(), [false, true])
        assert.equal((await one.read('/a'))?.version, 1)
      }))

    it('a beat is a write over the version that is expected', () =>
      using(async (_, one) => {
        await one.write([create('/workers'), create('/workers/w-1', 'me', 'ephemeral')])
        assert.equal(await one.beat('/workers/w-1', 'me', 0), 1)
        assert.equal(await one.beat('/workers/w-1', 'me', 1), 2)
        await assert.rejects(one.beat('/workers/w-1', 'me', 1), { code: 'session-lost' })
      }))

    it('names of sixty-four characters and half a megabyte are taken, more than a megabyte is not sent', () =>
      using(async (_, one) => {
        const path = `/${'a_-.'.repeat(16)}`
        const large = 'x'.repeat(512 * 1024)
        assert.ok((await one.write([create(path, large)])).done)
        assert.equal((await one.read(path))?.data, large)
        await assert.rejects(one.write([create('/b', 'x'.repeat(1_000_001))]), { code: 'too-large' })
        assert.equal(await one.read('/b'), null)
      }))
  })
}
