import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { openCache, prune } from '../../rig/cache.ts'
import { startChild } from '../../rig/child.ts'
import { RigError } from '../../rig/errors.ts'
import { type Guard, startGuard } from '../../rig/guard.ts'
import type { RigContext, Running, Wanted } from '../../rig/part.ts'
import { runningProcess, untilReady } from '../../rig/running.ts'
import { rig } from '../../rig/set.ts'

/** A part that is a small shell script; its line `ready` means ready. */
function script(text: string, more: Partial<Wanted<Running<null>>> = {}): Wanted<Running<null>> {
  const launch = async (ctx: RigContext) => {
    const child = await startChild({ name: ctx.name, command: 'bash', args: ['-c', text], ready: /^ready$/ }, ctx)
    await untilReady(child, ctx.name, { limitMs: 5_000, ask: async () => null })
    return child
  }
  return {
    part: 'proxy',
    memoryMb: 1,
    needs: async () => [],
    start: ctx => runningProcess(ctx, ctx.name, null, () => launch(ctx)),
    ...more,
  }
}

const waits = 'echo ready; sleep 600'

function codeOf(code: string) {
  return (error: unknown) => error instanceof RigError && error.code === code
}

describe('a set', () => {
  it('refuses what would not fit into the memory, before anything is made', async () => {
    let started = false
    const large = script(waits, {
      memoryMb: 4_000,
      start: async () => {
        started = true
        throw new Error('started')
      },
    })
    const refused = rig({ large }, { availableMb: 6_000 })
    await assert.rejects(refused, { code: 'rig-memory', message: /needs 3\.9 GB, 60 % of what is free are 3\.5 GB/ })
    assert.equal(started, false)
  })

  it('ends the parts that came up when one of them does not, and keeps the folder with the logs', async () => {
    const kept: string[] = []
    const started: Running<null>[] = []
    const good = script(waits)
    const watched: Wanted<Running<null>> = {
      ...good,
      start: async ctx => {
        const running = await good.start(ctx)
        started.push(running)
        return running
      },
    }
    const bad = script('echo "ERROR no room"; for n in {1..50}; do echo line $n; done; exit 3')
    const failed = rig({ watched, bad }, { kept: dir => kept.push(dir) })
    await assert.rejects(failed, error => {
      assert.ok(error instanceof RigError)
      assert.equal(error.code, 'rig-start')
      assert.match(error.message, /^proxy\.bad ended \(exit 3\) .* its first trouble: ERROR no room/)
      assert.deepEqual([error.lines.length, error.lines.at(-1)], [40, 'line 50'])
      return true
    })
    for (const running of started) assert.deepEqual(running.pids, [])
    assert.equal(kept.length, 1)
    assert.ok(existsSync(join(kept[0] ?? '', 'proxy.bad.log')))
    rmSync(kept[0] ?? '', { recursive: true })
  })

  it('starts again with an empty folder when a port was taken, three times at most', async () => {
    let starts = 0
    const unlucky = script('echo "bind: Address already in use"; exit 1')
    const counted: Wanted<Running<null>> = {
      ...unlucky,
      start: ctx => {
        starts++
        return unlucky.start(ctx)
      },
    }
    await assert.rejects(rig({ counted }), codeOf('rig-port'))
    assert.equal(starts, 3)
  })

  it('tells of a part that ended by itself, but not of one that was ended', async () => {
    await using set = await rig(
      { one: script('echo ready; read -t 0.1 < <(sleep 9); exit 5'), two: script(waits) },
      { kept: dir => rmSync(dir, { recursive: true }) },
    )
    await set.parts.two.kill()
    const died = await set.died
    assert.equal(died.part, 'proxy.one')
    assert.match(died.message, /ended by itself \(exit 5\)/)
  })

  it('restarts a part in its place, with its log', async () => {
    await using set = await rig({ one: script(`echo pid $$; ${waits}`) })
    const { one } = set.parts
    const [pid] = one.pids
    await one.restart()
    assert.notEqual(one.pids[0], pid)
    await one.stop()
    assert.deepEqual(one.pids, [])
    assert.equal((await one.exited).signal, 'SIGTERM')
  })

  it('ends a start that is under way when its caller stops it', async () => {
    const stop = new AbortController()
    const slow: Wanted<Running<null>> = script('sleep 600', { memoryMb: 1 })
    const start = rig({ slow }, { signal: stop.signal, progress: () => {} })
    setImmediate(() => stop.abort(new Error('enough')))
    await assert.rejects(start)
  })
})

describe('the cache', () => {
  const root = mkdtempSync(join(tmpdir(), 'millrace-test-cache-'))
  after(() => rmSync(root, { recursive: true, force: true }))

  async function guarded<T>(act: (guard: Guard) => Promise<T>): Promise<T> {
    const guard = await startGuard()
    try {
      return await act(guard)
    } finally {
      await guard.end()
    }
  }

  it('makes a folder once, although two ask for it at the same moment', async () => {
    const cache = openCache(root)
    const path = cache.path('jars', 'recipe')
    let made = 0
    const make = async (temporary: string) => {
      made++
      writeFileSync(join(temporary, 'what'), 'x')
      return join(temporary, 'what')
    }
    await guarded(guard => Promise.all([cache.make(path, guard, make), cache.make(path, guard, make)]))
    assert.equal(made, 1)
    assert.deepEqual(readdirSync(root), [path.slice(root.length + 1)])
  })

  it('gives the loser of a race the folder of the winner, and deletes its own', async () => {
    const cache = openCache(root)
    const path = cache.path('jars', 'raced')
    const write = (folder: string) => writeFileSync(join(folder, 'what'), 'x')
    await guarded(guard =>
      cache.make(path, guard, async temporary => {
        // Another process was faster: its folder is in place when ours is renamed.
        mkdirSync(path)
        write(path)
        mkdirSync(join(temporary, 'mine'))
        write(join(temporary, 'mine'))
        return join(temporary, 'mine')
      }),
    )
    assert.deepEqual(
      readdirSync(root).filter(name => name.startsWith('tmp-')),
      [],
    )
  })

  it('removes what no recipe names, and leaves the folder of somebody who is just downloading', async () => {
    const cache = openCache(root)
    mkdtempSync(join(root, 'tmp-'))
    const gone = await prune(cache, [{ kind: 'jars', pom: 'recipe' }], Date.now())
    assert.deepEqual(gone, [cache.path('jars', 'raced').slice(root.length + 1)])
    const later = Date.now() + 2 * 60 * 60 * 1_000
    assert.equal((await prune(cache, [{ kind: 'jars', pom: 'recipe' }], later)).length, 1)
    assert.equal(readdirSync(root).length, 1)
  })

  it('says so when its folder cannot be written', async () => {
    const file = join(root, 'file')
    writeFileSync(file, '')
    const cache = openCache(join(file, 'below'))
    await guarded(guard =>
      assert.rejects(
        cache.make(cache.path('jars', 'x'), guard, async folder => folder),
        codeOf('rig-cache'),
      ),
    )
  })
})
