import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Coordinator, Op, Phase } from '../../engine/ports/coordinator.ts'

/** Sessions over one set of documents that is empty at first. */
export type CoordinatorUnderTest = {
  /** Another session, connected. */
  open(): Promise<Coordinator>
  /** Does `work` while `one` has no connection, and waits until it has one again, of the same session. */
  away?(one: Coordinator, work: () => Promise<void>): Promise<void>
  /** Does `work` on `one` with the first answer lost, and waits until it is connected again. */
  withoutAnswer?(one: Coordinator, work: () => Promise<void>): Promise<void>
  /** Ends when the session of `one` has expired and `one` knows it. */
  expire?(one: Coordinator): Promise<void>
  dispose(): Promise<void>
}

const create = (path: string, data = '', mode: 'persistent' | 'ephemeral' | 'sequential' = 'persistent'): Op => ({
  do: 'create',
  path,
  data,
  mode,
})
const set = (path: string, data: string, version: number | null): Op => ({ do: 'set', path, data, version })

/** What every coordinator keeps (COORDINATION C-71): one suite for the adapters and the fakes. */
export function coordinatorContract(
  name: string,
  fresh: () => Promise<CoordinatorUnderTest>,
  options: { skip: string | false } = { skip: false },
): void {
  const using = async (work: (under: CoordinatorUnderTest, one: Coordinator) => Promise<void>) => {
    const under = await fresh()
    try {
      await work(under, await under.open())
    } finally {
      await under.dispose()
    }
  }
  describe(name, options, () => {
    documents(using)
    versions(using)
    sessions(using)
    hints(using)
    sizes(using)
  })
}

type Using = (work: (under: CoordinatorUnderTest, one: Coordinator) => Promise<void>) => Promise<void>

async function why(one: Coordinator, ...ops: Op[]): Promise<string> {
  const written = await one.write(ops)
  return written.done ? 'done' : `${written.refused.why} at ${written.refused.index}`
}

function documents(using: Using): void {
  it('several operations are done all or not at all, and the first that could not is named', () =>
    using(async (_, one) => {
      assert.deepEqual(await one.write([create('/a', '1'), create('/a/b', '2')]), {
        done: true,
        paths: ['/a', '/a/b'],
        versions: [0, 0],
      })
      assert.equal(await why(one, create('/c'), { do: 'check', path: '/a', version: 1 }, create('/d')), 'changed at 1')
      assert.deepEqual((await one.children('/')).sort(), ['a'])
      assert.equal(await why(one, create('/a')), 'exists at 0')
      assert.equal(await why(one, create('/x/y')), 'missing at 0')
      assert.equal(await why(one, set('/x', '', null)), 'missing at 0')
      assert.equal(await why(one, create('/c'), { do: 'remove', path: '/a', version: null }), 'not-empty at 1')
      assert.equal(await why(one, { do: 'remove', path: '/a/b', version: 3 }), 'changed at 0')
      assert.equal(await why(one, { do: 'check', path: '/a', version: 0 }), 'done')
      assert.equal(await one.read('/c'), null)
    }))

  it('what was written is read by who wrote it, in any alphabet, and nothing is a text too', () =>
    using(async (_, one) => {
      await one.write([create('/a', 'тест → ü 漢字 🙂'), create('/b', '')])
      assert.equal((await one.read('/a'))?.data, 'тест → ü 漢字 🙂')
      assert.equal((await one.read('/b'))?.data, '')
      for (let n = 0; n < 20; n++) {
        const written = one.write([set('/b', String(n), n)])
        // Asked before the answer: what one session asks is done in order.
        assert.equal((await one.read('/b'))?.data, String(n))
        await written
      }
      assert.deepEqual(await one.children('/nowhere'), [])
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
      for (const path of made) assert.match(path, /^\/queue\/candidate-\d{10}$/)
      assert.deepEqual(made, made.toSorted())
      assert.equal(new Set(made).size, 3)
    }))
}

function versions(using: Using): void {
  it('a version is 0 after creation and one more with each write; a tag is never the same twice', () =>
    using(async (_, one) => {
      await one.write([create('/a', 'x')])
      const first = await one.read('/a')
      assert.deepEqual([first?.data, first?.version, first?.owner], ['x', 0, null])
      assert.deepEqual(await one.write([set('/a', 'y', 0)]), { done: true, paths: ['/a'], versions: [1] })
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

  it('version 0 means 0, not any: in a check, a write and a removal, alone and among others', () =>
    using(async (_, one) => {
      await one.write([create('/a', ''), create('/b')])
      await one.write([set('/a', '1', 0)])
      for (const stale of [
        { do: 'check', path: '/a', version: 0 },
        set('/a', 'stale', 0),
        { do: 'remove', path: '/a', version: 0 },
      ] as const) {
        assert.equal(await why(one, stale), 'changed at 0')
        assert.equal(await why(one, set('/b', 'with it', null), stale), 'changed at 1')
      }
      assert.equal((await one.read('/a'))?.data, '1')
      assert.equal((await one.read('/b'))?.version, 0)
    }))

  it('of two that write over one version, one is told that it changed', () =>
    using(async (under, one) => {
      const other = await under.open()
      await one.write([create('/a', '')])
      const both = await Promise.all([one.write([set('/a', '1', 0)]), other.write([set('/a', '2', 0)])])
      assert.deepEqual(both.map(written => written.done).sort(), [false, true])
      assert.equal((await one.read('/a'))?.version, 1)
    }))

  it('a beat is a write over the version that is expected', () =>
    using(async (_, one) => {
      await one.write([create('/workers'), create('/workers/w-1', 'me', 'ephemeral')])
      assert.equal(await one.beat('/workers/w-1', 'me', 0), 1)
      assert.equal(await one.beat('/workers/w-1', 'me', 1), 2)
      await assert.rejects(one.beat('/workers/w-1', 'me', 1), { code: 'session-lost' })
      await assert.rejects(one.beat('/workers/w-2', 'me', 0), { code: 'session-lost' })
    }))
}

function sessions(using: Using): void {
  it('what belongs to a session goes with it, and nothing hangs below it', () =>
    using(async (under, one) => {
      const other = await under.open()
      const phases: Phase[] = []
      other.changed(phase => phases.push(phase), new AbortController().signal)
      await other.write([create('/mine', '', 'ephemeral')])
      assert.equal((await one.read('/mine'))?.owner, other.state().session)
      assert.equal(await why(one, create('/mine/below')), 'missing at 0')
      await other.close()
      assert.equal(await one.read('/mine'), null)
      assert.equal(other.state().phase, 'lost')
      assert.deepEqual(phases, ['lost'])
      await assert.rejects(other.write([create('/later')]), { code: 'session-lost' })
      await assert.rejects(other.read('/mine'), { code: 'session-lost' })
      await assert.rejects(other.children('/'), { code: 'session-lost' })
      await other.close()
    }))

  it('a connected session has a name of its own, a time-out and no trouble', () =>
    using(async (under, one) => {
      const other = await under.open()
      assert.deepEqual([one.state().phase, one.state().trouble], ['connected', null])
      assert.ok(one.state().timeoutMs >= 1_000)
      assert.notEqual(one.state().session, other.state().session)
    }))

  it('a lost connection is suspended, and takes nothing along; what is asked for meanwhile is not done later', t =>
    using(async (under, one) => {
      if (!under.away) return t.skip('nothing can be between')
      const phases: Phase[] = []
      one.changed(phase => phases.push(phase), new AbortController().signal)
      const { session } = one.state()
      await one.write([create('/mine', '', 'ephemeral')])
      await under.away(one, async () => {
        assert.equal(one.state().phase, 'suspended')
        assert.equal(one.state().trouble?.code, 'coordination-unreachable')
        await assert.rejects(one.write([set('/mine', 'late', 0)]), { code: 'coordination-unreachable' })
        await assert.rejects(one.beat('/mine', 'late', 0), { code: 'coordination-unreachable' })
        await assert.rejects(one.read('/mine'), { code: 'coordination-unreachable' })
      })
      assert.deepEqual(phases, ['suspended', 'connected'])
      assert.deepEqual([one.state().session, one.state().trouble], [session, null])
      const mine = await one.read('/mine')
      assert.deepEqual([mine?.owner, mine?.version], [session, 0])
    }))

  it('a session that has expired is lost, with what belongs to it, and comes to life no more', t =>
    using(async (under, one) => {
      if (!under.expire) return t.skip('nothing can expire')
      const other = await under.open()
      await other.write([create('/mine', '', 'ephemeral'), create('/stays')])
      await under.expire(other)
      assert.equal(other.state().phase, 'lost')
      assert.equal(await one.read('/mine'), null)
      assert.notEqual(await one.read('/stays'), null)
      await assert.rejects(other.write([set('/stays', '', 0)]), { code: 'session-lost' })
      await other.close()
    }))

  it('a write whose answer is lost has an unknown outcome, and is there', t =>
    using(async (under, one) => {
      if (!under.withoutAnswer) return t.skip('no answer can be lost')
      await one.write([create('/a', '')])
      await under.withoutAnswer(one, () => assert.rejects(one.write([set('/a', '1', 0)]), { code: 'outcome-unknown' }))
      assert.deepEqual([(await one.read('/a'))?.data, (await one.read('/a'))?.version], ['1', 1])
      await under.withoutAnswer(one, () => assert.rejects(one.beat('/a', '2', 1), { code: 'outcome-unknown' }))
      assert.equal((await one.read('/a'))?.version, 2)
      await under.withoutAnswer(one, () => assert.rejects(one.read('/a'), { code: 'coordination-unreachable' }))
    }))
}

function hints(using: Using): void {
  /** Counts what comes, and lets it be waited for. */
  const counted = () => {
    let hints = 0
    let wake = () => {}
    return {
      onHint: () => {
        hints++
        wake()
      },
      count: () => hints,
      until: async (wanted: number) => {
        while (hints < wanted)
          await new Promise<void>(resolve => {
            wake = resolve
          })
      },
    }
  }

  it('a watcher gets a hint after each change, of the path and the kind that it asked for', () =>
    using(async (under, one) => {
      const other = await under.open()
      await one.write([create('/a', '1')])
      const off = new AbortController()
      const [data, children] = [counted(), counted()]
      one.watch('/a', 'data', data.onHint, off.signal)
      one.watch('/a', 'children', children.onHint, off.signal)
      for (let n = 1; n <= 3; n++) {
        // Who looks is told of what comes after the look.
        assert.equal((await one.read('/a'))?.version, n - 1)
        await other.write([set('/a', String(n), n - 1)])
        await data.until(n)
      }
      assert.deepEqual(await one.children('/a'), [])
      await other.write([create('/a/b')])
      await children.until(1)
      assert.deepEqual(await one.children('/a'), ['b'])
      assert.deepEqual([data.count(), children.count()], [3, 1])
      off.abort()
      await one.read('/a')
      await other.write([set('/a', 'unseen', null), create('/a/c')])
      await one.read('/a')
      assert.deepEqual([data.count(), children.count()], [3, 1])
    }))

  it('what is not there is watched too: its coming, its going, the children it gets', () =>
    using(async (under, one) => {
      const other = await under.open()
      const off = new AbortController()
      const [data, children] = [counted(), counted()]
      one.watch('/a', 'data', data.onHint, off.signal)
      one.watch('/a', 'children', children.onHint, off.signal)
      await one.read('/a')
      await one.children('/a')
      await other.write([create('/a')])
      await data.until(1)
      await one.children('/a')
      await other.write([create('/a/b')])
      while (!(await one.children('/a')).includes('b')) await children.until(children.count() + 1)
      await other.write([
        { do: 'remove', path: '/a/b', version: null },
        { do: 'remove', path: '/a', version: null },
      ])
      await data.until(2)
      assert.equal(await one.read('/a'), null)
      await other.write([create('/a')])
      await data.until(3)
      off.abort()
    }))

  it('two watchers of one path are both told, once a change, and one of them may leave', () =>
    using(async (under, one) => {
      const other = await under.open()
      await one.write([create('/a')])
      const [stays, leaves] = [counted(), counted()]
      const [on, off] = [new AbortController(), new AbortController()]
      one.watch('/a', 'data', stays.onHint, on.signal)
      one.watch('/a', 'data', leaves.onHint, off.signal)
      await one.read('/a')
      await other.write([set('/a', '1', 0)])
      await Promise.all([stays.until(1), leaves.until(1)])
      off.abort()
      await one.read('/a')
      await other.write([set('/a', '2', 1)])
      await stays.until(2)
      assert.deepEqual([stays.count(), leaves.count()], [2, 1])
      on.abort()
    }))

  it('a change while there is no connection is hinted at afterwards, and so is what is watched meanwhile', t =>
    using(async (under, one) => {
      if (!under.away) return t.skip('nothing can be between')
      const other = await under.open()
      await one.write([create('/a'), create('/b'), create('/c')])
      const off = new AbortController()
      const [before, unchanged, meanwhile] = [counted(), counted(), counted()]
      one.watch('/a', 'data', before.onHint, off.signal)
      one.watch('/c', 'data', unchanged.onHint, off.signal)
      await one.read('/a')
      await under.away(one, async () => {
        await other.write([set('/a', '1', 0), set('/b', '1', 0)])
        one.watch('/b', 'data', meanwhile.onHint, off.signal)
      })
      await Promise.all([before.until(1), meanwhile.until(1)])
      await one.read('/a')
      await other.write([set('/a', '2', 1), set('/b', '2', 1)])
      await Promise.all([before.until(2), meanwhile.until(2)])
      await one.read('/a')
      assert.deepEqual([before.count(), meanwhile.count()], [2, 2])
      off.abort()
    }))
}

function sizes(using: Using): void {
  it('names of sixty-four characters and half a megabyte are taken, more than a megabyte is not sent', () =>
    using(async (_, one) => {
      const path = `/${'a_-.'.repeat(16)}`
      const large = 'x'.repeat(512 * 1024)
      assert.ok((await one.write([create(path, large)])).done)
      assert.equal((await one.read(path))?.data, large)
      await assert.rejects(one.write([create('/b', 'x'.repeat(1_000_001))]), { code: 'too-large' })
      assert.equal(await one.read('/b'), null)
      const many = ['/c', '/d', '/e'].map(name => create(name, 'x'.repeat(340_000)))
      await assert.rejects(one.write(many), { code: 'too-large' })
      await assert.rejects(one.write([create('/f', '漢'.repeat(340_000))]), { code: 'too-large' })
      assert.deepEqual(await one.children('/'), [path.slice(1)])
      assert.equal(one.state().phase, 'connected')
      assert.ok((await one.write(['/c', '/d'].map(name => create(name, 'x'.repeat(480_000))))).done)
    }))

  it('two hundred operations are one write', () =>
    using(async (_, one) => {
      const ops = Array.from({ length: 200 }, (_, n) => create(`/n-${n}`, String(n)))
      const written = await one.write(ops)
      assert.ok(written.done)
      assert.equal(written.paths[199], '/n-199')
      assert.equal((await one.children('/')).length, 200)
    }))
}
