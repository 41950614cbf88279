import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { ZookeeperOptions } from '../../engine/adapters/zookeeper/openZookeeper.ts'
import { Secret } from '../../engine/flow/secret.ts'
import type { Coordinator, Op, Phase } from '../../engine/ports/coordinator.ts'
import { want } from '../../rig/part.ts'
import { randomPorts } from '../../rig/ports.ts'
import { type FaultProxy, proxy } from '../../rig/proxy.ts'
import { type RigSet, rig } from '../../rig/set.ts'
import { zookeeper } from '../../rig/zookeeper.ts'
import { phaseOf } from '../contracts/phaseOf.ts'
import { hostsOf, openTo, proxiedSessions } from './proxiedSessions.ts'
import { live } from './rigFor.ts'

const wishes = () => ({ zk: want(zookeeper, {}), closed: want(zookeeper, { demandSasl: true }) })

const loginOf = (user: string, password: string) => ({
  user,
  password: new Secret(password, { name: 'auth', generation: 1 }),
})
const create = (path: string, mode: 'persistent' | 'ephemeral' = 'persistent'): Op => ({
  do: 'create',
  path,
  data: '',
  mode,
})

describe('the coordinator on ZooKeeper, on bad lines', live, () => {
  let set: RigSet<ReturnType<typeof wishes>>
  before(async () => {
    set = await rig(wishes())
  })
  after(() => set.dispose())

  const members = () => set.parts.zk.members.map(member => member.address)
  const chroot = () => set.parts.zk.chroot('faults').replace(/^[^/]*/, '')

  /** One session behind a proxy; all is closed at the end. */
  async function behindProxy(
    work: (one: Coordinator, line: FaultProxy, sessions: Awaited<ReturnType<typeof proxiedSessions>>) => Promise<void>,
    more: Partial<ZookeeperOptions> = {},
  ): Promise<void> {
    const sessions = await proxiedSessions({ members: members(), chroot: chroot() }, more)
    try {
      const one = await sessions.open()
      const [line] = sessions.lines(one)
      assert.ok(line)
      await work(one, line, sessions)
    } finally {
      await sessions.dispose()
    }
  }

  it('COORDINATION 8: in a black hole a session that beats is suspended 4.2 s after its last answered beat at most', () =>
    behindProxy(
      async (one, line) => {
        await one.write([create('/w', 'ephemeral')])
        assert.equal(one.state().timeoutMs, 10_000)
        const sentMs = performance.now()
        const version = await one.beat('/w', '', 0)
        await line.set({ blackHole: true }, { blackHole: true })
        await new Promise(resolve => setTimeout(resolve, sentMs + 2_000 - performance.now()))
        await assert.rejects(one.beat('/w', '', version), { code: 'outcome-unknown' })
        const elapsedMs = performance.now() - sentMs
        assert.equal(one.state().phase, 'suspended')
        assert.ok(elapsedMs <= 4_200, `${elapsedMs} ms`)
        await line.heal()
        await phaseOf(one, 'connected')
        assert.equal((await one.read('/w'))?.owner, one.state().session)
      },
      { sessionMs: 10_000 },
    ))

  it('COORDINATION 8: a mute first server costs 1.5 s at most', async () => {
    const [member] = members()
    assert.ok(member)
    const mute = await proxy(member, { ports: randomPorts() })
    await mute.set({ blackHole: true }, { blackHole: true })
    const began = performance.now()
    const one = openTo(hostsOf([mute.address, member]), chroot(), { chance: () => 0 })
    try {
      await phaseOf(one, 'connected')
      const elapsedMs = performance.now() - began
      assert.equal(mute.count.connections, 1)
      assert.ok(elapsedMs <= 1_500, `${elapsedMs} ms`)
    } finally {
      await one.close()
      await mute.stop()
    }
  })

  it('COORDINATION 8: fifty cuts in the middle of a frame, the handshake among them, leave the session as it was', () =>
    behindProxy(async (one, line) => {
      const phases: Phase[] = []
      one.changed(phase => phases.push(phase), new AbortController().signal)
      const { session } = one.state()
      await one.write([{ ...create('/large'), data: 'x'.repeat(2_000) } as Op, create('/w', 'ephemeral')])
      const cutsMax = 50
      let cuts = 0
      while (cuts < cutsMax) {
        // The session's answer is 41 bytes, a read's some 2,100: each is cut somewhere in its middle.
        const [inAnswer, inHandshake] = [1 + ((cuts * 397) % 2_050), 1 + ((cuts * 7) % 40)]
        const suspended = phaseOf(one, 'suspended')
        await line.set({}, { cutAfterBytes: inAnswer })
        const read = one.read('/large').catch(() => {})
        await suspended
        const dialled = line.count.connections
        await line.set({}, { cutAfterBytes: inHandshake })
        while (line.count.connections < dialled + 2)
          await new Promise<void>(resolve => line.on('connection', () => resolve()))
        cuts += 2
        await line.heal()
        await read
        await phaseOf(one, 'connected')
        assert.equal(one.state().session, session)
      }
      assert.equal((await one.read('/w'))?.owner, session)
      assert.ok(!phases.includes('lost'))
    }))

  it('COORDINATION 8: the answer of every third beat is dropped, and no session, beat or version is lost', () =>
    behindProxy(async (one, _, sessions) => {
      await one.write([create('/w', 'ephemeral')])
      const { session } = one.state()
      let version = 0
      for (let n = 1; n <= 30; n++) {
        if (n % 3 !== 0) version = await one.beat('/w', '', version)
        else {
          await sessions.withoutAnswer?.(one, () =>
            assert.rejects(one.beat('/w', '', version), { code: 'outcome-unknown' }),
          )
          await assert.rejects(one.beat('/w', '', version), { code: 'session-lost' })
          const node = await one.read('/w')
          // Ours: the lost beat was done.
          assert.deepEqual([node?.owner, node?.version], [session, version + 1])
          version++
        }
      }
      assert.deepEqual([one.state().phase, version], ['connected', 30])
    }))

  it('COORDINATION 8: thirty operations over each of ten reconnections with auth are done, none without the login', () =>
    behindProxy(
      async (one, line) => {
        const codes = new Map<string, number>()
        const done = async (op: Op): Promise<void> => {
          for (;;) {
            await phaseOf(one, 'connected')
            try {
              const written = await one.write([op])
              // Done before its answer was lost.
              if (!written.done) assert.equal(written.refused.why, 'exists')
              return
            } catch (error) {
              const code = (error as { code: string }).code
              codes.set(code, (codes.get(code) ?? 0) + 1)
              assert.match(code, /^(coordination-unreachable|outcome-unknown)$/)
              if (one.state().phase === 'connected') await new Promise(resolve => setImmediate(resolve))
            }
          }
        }
        for (let round = 0; round < 10; round++) {
          const all = Array.from({ length: 15 }, (_, n) => done(create(`/${round}-${n}`)))
          await line.cut()
          await Promise.all([...all, ...Array.from({ length: 15 }, (_, n) => done(create(`/${round}-${n + 15}`)))])
        }
        assert.equal((await one.children('/')).length, 300)
      },
      { auth: loginOf('fleet', 'secret') },
    ))

  it('COORDINATION 8: an expiry with a hundred open operations settles them all within 5 s', () =>
    behindProxy(async (one, line) => {
      await one.write([create('/w', 'ephemeral')])
      await line.set({}, { blackHole: true })
      const began = performance.now()
      const all = Promise.allSettled(
        Array.from({ length: 100 }, (_, n) => (n % 2 === 0 ? one.read('/w') : one.write([create(`/${n}`)]))),
      )
      await line.set({ blackHole: true }, { blackHole: true })
      const settled = await all
      const elapsedMs = performance.now() - began
      assert.ok(elapsedMs <= 5_100, `${elapsedMs} ms`)
      for (const [n, one] of settled.entries()) {
        assert.equal(
          one.status === 'rejected' && one.reason.code,
          n % 2 === 0 ? 'coordination-unreachable' : 'outcome-unknown',
        )
      }
      // What was sent before its session ended is answered nowhere; the server has forgotten it by now.
      await new Promise(resolve => setTimeout(resolve, one.state().timeoutMs + 1_500))
      const lost = phaseOf(one, 'lost')
      await line.cut()
      await line.heal()
      await lost
      await assert.rejects(one.read('/w'), { code: 'session-lost' })
    }))

  it('COORDINATION 8: from request 2³⁰ − 5 on twenty operations are fine, and so from 2³¹ − 5', async () => {
    for (const requestId of [2 ** 30 - 5, 2 ** 31 - 5]) {
      await behindProxy(
        async (one, line) => {
          await one.write([create('/w')])
          for (let n = 0; n < 20; n++) assert.equal(await one.beat('/w', String(n), n), n + 1)
          await Promise.all(Array.from({ length: 20 }, () => one.read('/w')))
          assert.equal(line.count.connections, 1)
        },
        { requestId },
      )
    }
  })

  it('COORDINATION 8: a server that demands SASL is told as coordination-denied, and the process lives', async () => {
    const { closed } = set.parts
    const began = performance.now()
    const one = openTo(closed.address.bootstrap, '/millrace', { auth: loginOf('fleet', 'secret') })
    try {
      while (one.state().trouble?.code !== 'coordination-denied') await new Promise(resolve => setTimeout(resolve, 20))
      assert.ok(performance.now() - began < 2_000)
      assert.match(one.state().trouble?.message ?? '', /SASL/)
      await assert.rejects(one.write([create('/a')]), { code: 'coordination-denied' })
      assert.equal(one.state().phase, 'connecting')
    } finally {
      await one.close()
    }
  })

  it('C-35: the chroot is closed to other logins and to those without one, and they are told whose it is', async () => {
    const place = `/above${chroot()}`
    const hosts = hostsOf(members())
    const open: Coordinator[] = []
    const opened = (auth: ZookeeperOptions['auth']) => {
      const one = openTo(hosts, place, { auth })
      open.push(one)
      return one
    }
    try {
      const ours = opened(loginOf('fleet', 'secret'))
      await phaseOf(ours, 'connected')
      assert.ok((await ours.write([create('/a')])).done)
      const denied = async (one: Coordinator) => {
        while (one.state().trouble?.code !== 'coordination-denied')
          await new Promise(resolve => setTimeout(resolve, 20))
        await assert.rejects(one.read('/a'), { code: 'coordination-denied' })
        return one.state().trouble
      }
      const [other, nobody] = [await denied(opened(loginOf('fleet', 'wrong'))), await denied(opened(null))]
      assert.match(other?.hint ?? '', /secret of coordination\.auth/)
      assert.ok(nobody)
      const above = openTo(hosts, '/above')
      open.push(above)
      await phaseOf(above, 'connected')
      const inside = `${place.slice('/above'.length)}/a`
      await assert.rejects(above.read(inside), { code: 'coordination-denied' })
      await assert.rejects(above.write([{ do: 'remove', path: inside, version: null }]), {
        code: 'coordination-denied',
      })
      const again = opened(loginOf('fleet', 'secret'))
      await phaseOf(again, 'connected')
      assert.equal((await again.read('/a'))?.version, 0)
    } finally {
      await Promise.all(open.map(one => one.close()))
    }
  })

  it('C-84: a corrected secret is used at once, however long the next try was to be waited for', async () => {
    const [hosts, place] = [hostsOf(members()), chroot()]
    const right = loginOf('fleet', 'secret')
    const open = [openTo(hosts, place, { auth: right })]
    try {
      const [ours] = open
      assert.ok(ours)
      // Who is first makes the chroot, and it is theirs.
      await phaseOf(ours, 'connected')
      const wrong = openTo(hosts, place, { auth: loginOf('fleet', 'x') })
      open.push(wrong)
      while (wrong.state().trouble?.code !== 'coordination-denied')
        await new Promise(resolve => setTimeout(resolve, 20))
      const began = performance.now()
      wrong.login(right)
      await phaseOf(wrong, 'connected')
      // Half of the shortest wait of the curve.
      assert.ok(performance.now() - began < 400)
      await wrong.write([create('/made')])
      assert.equal((await ours.read('/made'))?.version, 0)
    } finally {
      await Promise.all(open.map(one => one.close()))
    }
  })

  it('C-35: an open chroot is closed while it is empty, and refused when somebody has used it', async () => {
    const hosts = hostsOf(members())
    const [empty, used] = [chroot(), chroot()]
    const plain = openTo(hosts, '')
    const open: Coordinator[] = [plain]
    try {
      await phaseOf(plain, 'connected')
      await plain.write([create(empty), create(used), create(`${used}/flows`)])
      const auth = loginOf('fleet', 'secret')
      const [closes, refused] = [openTo(hosts, empty, { auth }), openTo(hosts, used, { auth })]
      open.push(closes, refused)
      await phaseOf(closes, 'connected')
      await assert.rejects(plain.write([create(`${empty}/mine`)]), { code: 'coordination-denied' })
      while (refused.state().trouble?.code !== 'coordination-denied')
        await new Promise(resolve => setTimeout(resolve, 20))
      assert.match(refused.state().trouble?.message ?? '', /open to everybody/)
    } finally {
      await Promise.all(open.map(one => one.close()))
    }
  })
})
