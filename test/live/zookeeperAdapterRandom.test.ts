import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Coordinator } from '../../engine/ports/coordinator.ts'
import { want } from '../../rig/part.ts'
import type { FaultProxy } from '../../rig/proxy.ts'
import { between, seeded } from '../../rig/seeded.ts'
import { type RigSet, rig } from '../../rig/set.ts'
import { zookeeper } from '../../rig/zookeeper.ts'
import { phaseOf } from '../contracts/phaseOf.ts'
import { proxiedSessions } from './proxiedSessions.ts'
import { live } from './rigFor.ts'

const wishes = () => ({ zk: want(zookeeper, { members: 3 }) })
const faultsMs = 20_000
/** A fault is found by its deadline, 5 s, and the line is used again; a session that is over has another by then. */
const calmMs = 9_000
const clients = 4
const path = '/counter'

const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))
const codeOf = (error: unknown) => (error as { code?: string }).code ?? String(error)

describe('the coordinator on three members, with faults by chance', live, () => {
  let set: RigSet<ReturnType<typeof wishes>>
  before(async () => {
    set = await rig(wishes())
  })
  after(() => set.dispose())

  it('no write is lost, done twice or told wrong, and every watcher ends with the last version', async t => {
    const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000)
    t.diagnostic(`SEED=${seed}`)
    const chance = seeded(seed)
    const members = set.parts.zk.members.map(member => member.address)
    const sessions = await proxiedSessions({ members, chroot: '/random' }, { sessionMs: 6_000, chance })
    const told = { done: 0, unknown: 0 }
    const open: Coordinator[] = []
    const seen: number[] = []
    let over = false

    /** Looks when it is hinted at, one look at a time, and after each reconnection. */
    function look(one: Coordinator, n: number, off: AbortSignal): void {
      let due = false
      let busy = false
      const again = async () => {
        due = true
        if (busy) return
        busy = true
        while (due && !off.aborted) {
          due = false
          seen[n] = await one.read(path).then(
            node => node?.version ?? -1,
            () => -2,
          )
        }
        busy = false
      }
      one.watch(path, 'data', again, off)
      one.changed(phase => void (phase === 'connected' && again()), off)
      void again()
    }

    async function write(one: Coordinator): Promise<void> {
      const node = await one.read(path)
      assert.ok(node)
      const written = await one.write([{ do: 'set', path, data: '', version: node.version }])
      if (!written.done) return assert.equal(written.refused.why, 'changed')
      told.done++
      assert.deepEqual(written.versions, [node.version + 1])
    }

    async function client(n: number): Promise<void> {
      while (!over) {
        const one = await sessions.open()
        open[n] = one
        const off = new AbortController()
        look(one, n, off.signal)
        while (!over && one.state().phase !== 'lost') {
          await write(one).catch(error => {
            const code = codeOf(error)
            assert.match(code, /^(coordination-unreachable|outcome-unknown|session-lost)$/)
            if (code === 'outcome-unknown') told.unknown++
          })
          await pause(between(chance, 5, 25))
        }
        if (!over) off.abort()
      }
    }

    const faults: ((line: FaultProxy) => Promise<void>)[] = [
      line => line.cut(),
      line => line.set({ blackHole: true }, { blackHole: true }),
      line => line.set({}, { blackHole: true }),
      line => line.set({ latencyMs: 200, jitterMs: 300 }, { latencyMs: 100 }),
      line => line.set({}, { cutAfterBytes: between(chance, 1, 300) }),
      line => line.set({ refuse: true }, {}),
    ]
    const each = (one: Coordinator | undefined, act: (line: FaultProxy) => Promise<void>) =>
      Promise.all((one ? sessions.lines(one) : []).map(act))

    try {
      const first = await sessions.open()
      await first.write([{ do: 'create', path, data: '', mode: 'persistent' }])
      const all = Array.from({ length: clients }, (_, n) => client(n))
      for (
        const until = performance.now() + faultsMs;
        performance.now() < until;
        await pause(between(chance, 0, 1_500))
      ) {
        await each(
          open[between(chance, 0, clients - 1)],
          faults[between(chance, 0, faults.length - 1)] as (typeof faults)[0],
        )
        await each(open[between(chance, 0, clients - 1)], line => line.heal())
        if (chance() > 0.1) continue
        const member = set.parts.zk.members[between(chance, 0, 2)]
        await member?.kill()
        await member?.restart()
      }
      for (const one of open) await each(one, line => line.heal())
      await pause(calmMs)
      over = true
      await Promise.all(all)
      const last = await first.write([{ do: 'set', path, data: 'last', version: null }])
      assert.ok(last.done)
      const version = last.versions[0] ?? 0
      for (const until = performance.now() + 2_000; performance.now() < until && seen.some(one => one !== version); )
        await pause(20)
      assert.deepEqual(
        seen,
        Array.from({ length: clients }, () => version),
      )
      t.diagnostic(`${told.done} writes done, ${told.unknown} unknown, version ${version}`)
      assert.ok(version > told.done && version <= told.done + told.unknown + 1)
      await Promise.all(open.map(one => phaseOf(one, 'connected')))
    } finally {
      over = true
      await sessions.dispose()
    }
  })
})
