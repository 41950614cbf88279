import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openZookeeper } from '../../../engine/adapters/zookeeper/openZookeeper.ts'
import { Secret } from '../../../engine/flow/secret.ts'
import { randomPorts } from '../../../rig/ports.ts'
import { hangingAddress } from '../../../rig/proxy/hanging.ts'
import { phaseOf } from '../../contracts/phaseOf.ts'
import { manualClock } from '../../fakes/clock.ts'
import { turns, withServer, withTurns } from './opened.ts'
import { changed, kinds, scriptedServer } from './scriptedServer.ts'

const zeros = '0'.repeat(16)
const auth = { user: 'fleet', password: new Secret('secret', { name: 'auth', generation: 1 }) }
const set = (path: string) => ({ do: 'set', path, data: '', version: null }) as const

describe('what the ZooKeeper client lacks is mended', () => {
  it('C-73: a beat that is not answered within a fifth of the session ends the connection, and the session goes on', () =>
    withServer({}, async ({ clock, server, one, connected }) => {
      await connected()
      server.script.answer = () => null
      const beat = assert.rejects(one.beat('/w', 'me', 0), { code: 'outcome-unknown' })
      await server.until(() => server.requests.at(-1)?.type === kinds.setData)
      await clock.advance(799)
      assert.equal(one.state().phase, 'connected')
      server.script.answer = undefined
      await clock.advance(1)
      await beat
      assert.equal(one.state().phase, 'suspended')
      await connected()
      assert.deepEqual(
        server.hellos.map(hello => hello.session),
        [zeros, one.state().session],
      )
    }))

  it('C-73: without a beat, a ping that is not answered until the next is due ends the connection', () =>
    withServer({ timeoutMs: 150 }, async ({ server, connected }) => {
      await connected()
      server.script.answer = ({ type }) => (type === kinds.ping ? null : undefined)
      await server.until(() => server.hellos.length === 2)
      assert.equal(server.requests.filter(({ type }) => type === kinds.ping).length, 1)
    }))

  it('C-74: a server that accepts and says nothing is left after a second, and the next one is used', async () => {
    const [mute, good] = [await scriptedServer({ greet: () => 'silence' }), await scriptedServer()]
    const clock = manualClock()
    const connect = `127.0.0.1:${mute.port},127.0.0.1:${good.port}`
    const one = openZookeeper({ connect, sessionMs: 4_000, auth: null, clock: withTurns(clock), chance: () => 0 })
    try {
      await mute.until(() => mute.hellos.length === 1)
      await clock.advance(999)
      assert.equal(good.hellos.length, 0)
      const { trouble } = one.state()
      assert.equal(trouble?.code, 'coordination-unreachable')
      await clock.advance(1)
      await phaseOf(one, 'connected')
      assert.equal(clock.nowMs(), 1_000)
    } finally {
      await one.close()
      await Promise.all([mute.close(), good.close()])
    }
  })

  it('C-74: a slow server, the only one, gets more time in each round: it is used in the end', () =>
    withServer(
      { greet: () => 'silence', timeoutMs: 30_000 },
      async ({ clock, server, connected }) => {
        for (const [dials, ms] of [
          [1, 1_000],
          [2, 1_000],
        ] as const) {
          await server.until(() => server.hellos.length === dials)
          await clock.advance(ms)
        }
        await server.until(() => server.hellos.length === 3)
        await clock.advance(1_500)
        server.greet()
        await connected()
      },
      { sessionMs: 30_000 },
    ))

  it('C-75: what is not answered in five seconds is settled, a read as not done and a write as unknown', () =>
    withServer({}, async ({ clock, server, one, connected }) => {
      await connected()
      server.script.answer = () => null
      const read = assert.rejects(one.read('/a'), { code: 'coordination-unreachable' })
      const write = assert.rejects(one.write([set('/a')]), { code: 'outcome-unknown' })
      await clock.advance(5_000)
      await Promise.all([read, write])
      assert.equal(one.state().phase, 'suspended')
    }))

  it('C-75, C-83: what waits inside the library when the connection ends is settled too, and never sent', () =>
    withServer(
      {},
      async ({ server, one, connected }) => {
        await connected()
        server.script.answer = () => null
        const open = Promise.allSettled([one.read('/a'), one.read('/b'), one.beat('/w', 'me', 0)])
        await server.until(() => server.requests.some(({ type }) => type === kinds.getData))
        server.script.answer = undefined
        server.cut()
        assert.deepEqual(
          (await open).map(one => one.status === 'rejected' && one.reason.code),
          ['coordination-unreachable', 'coordination-unreachable', 'outcome-unknown'],
        )
        await connected()
        assert.equal((await one.read('/a'))?.version, 0)
        // The second and the third were held back: the ids were at their end.
        assert.equal(server.requests.filter(({ type }) => type === kinds.getData).length, 2)
        assert.equal(server.requests.filter(({ type }) => type === kinds.setData).length, 0)
      },
      { requestId: 2 ** 30 - 2 },
    ))

  it('C-76: half a frame of a connection that ended does not spoil the next one', () =>
    withServer({}, async ({ server, one, connected }) => {
      await connected()
      const session = one.state().session
      for (let n = 0; n < 5; n++) {
        // A length and half a header.
        server.send(Buffer.from('00000040ffffffff0000', 'hex'))
        await turns(3)
        const suspended = phaseOf(one, 'suspended')
        server.cut()
        await suspended
        await connected()
        assert.equal(one.state().session, session)
      }
    }))

  it('C-77: after a reconnection nothing goes out before the login is answered', () =>
    withServer(
      { answer: request => aclAnswer(request.type) },
      async ({ server, one, connected }) => {
        await connected()
        one.watch('/a', 'data', () => {}, new AbortController().signal)
        await one.read('/a')
        const before = server.requests.length
        server.script.answer = ({ type }) => (type === kinds.auth ? null : aclAnswer(type))
        server.cut()
        await server.until(() => server.requests.length > before)
        await turns(10)
        assert.deepEqual(
          server.requests.slice(before).map(({ type }) => type),
          [kinds.auth],
        )
        assert.equal(one.state().phase, 'suspended')
        await assert.rejects(one.read('/a'), { code: 'coordination-unreachable' })
        const login = server.requests.at(-1)
        assert.ok(login)
        server.reply(login, { error: 0 })
        await connected()
        assert.deepEqual(
          server.requests.slice(before).map(({ type }) => type),
          [kinds.auth, kinds.setWatches, kinds.exists],
        )
      },
      { auth },
    ))

  it('C-78: request ids begin anew before they overflow, when nothing is open', () =>
    withServer(
      {},
      async ({ server, one, connected }) => {
        await connected()
        for (let n = 0; n < 20; n++) await one.beat('/w', 'me', n)
        await Promise.all(Array.from({ length: 50 }, () => one.read('/a')))
        const ids = server.requests.map(({ xid }) => xid)
        assert.deepEqual(ids.slice(0, 7), [-5, -4, -3, -2, -1].map(n => 2 ** 30 + n).concat(1, 2))
        assert.equal(server.hellos.length, 1)
      },
      { requestId: 2 ** 30 - 5 },
    ))

  it('C-78: while something is open what comes after waits for it, and is not lost', () =>
    withServer(
      {},
      async ({ server, one, connected }) => {
        await connected()
        server.script.answer = ({ type }) => (type === kinds.getData ? null : undefined)
        const slow = one.read('/slow')
        await server.until(() => server.requests.at(-1)?.type === kinds.getData)
        const asked = server.requests.at(-1)
        assert.ok(asked)
        const later = Promise.all(Array.from({ length: 20 }, (_, n) => one.beat('/w', 'me', n)))
        await turns(5)
        assert.equal(server.requests.at(-1), asked)
        server.reply(asked, { error: -101 })
        assert.equal(await slow, null)
        await later
        assert.equal(server.hellos.length, 1)
      },
      { requestId: 2 ** 30 - 2 },
    ))

  it('C-79: an error number that the library does not know ends nothing', () =>
    withServer({}, async ({ server, one, connected }) => {
      await connected()
      server.script.answer = ({ type }) => (type === kinds.ping ? undefined : { error: -127 })
      await assert.rejects(one.write([set('/a')]), { code: 'outcome-unknown', message: /-127/ })
      await assert.rejects(one.read('/a'), { code: 'coordination-unreachable', message: /-127/ })
      server.script.answer = undefined
      assert.equal((await one.read('/a'))?.version, 0)
      assert.equal(server.hellos.length, 1)
    }))

  it('C-79, C-84: a server that demands SASL is tried again, ever more seldom, and told as denied', () =>
    withServer({ answer: () => ({ error: -124 }) }, async ({ clock, server, one, connected }) => {
      for (const [dials, ms] of [
        [1, 800],
        [2, 1_600],
        [3, 3_200],
      ] as const) {
        await server.until(() => server.requests.length === dials)
        await turns(10)
        await clock.advance(ms - 1)
        await turns(10)
        assert.equal(server.hellos.length, dials)
        assert.equal(one.state().phase, 'connecting')
        assert.equal(one.state().trouble?.code, 'coordination-denied')
        await assert.rejects(one.read('/a'), { code: 'coordination-denied' })
        await clock.advance(1)
      }
      server.script.answer = undefined
      await connected()
      assert.equal(one.state().trouble, null)
    }))

  it('C-80: a session that is over is lost, with everything that is open, and nothing is dialled again', () =>
    withServer({}, async ({ clock, server, one, connected }) => {
      await connected()
      server.script.answer = () => null
      const open = Promise.allSettled(Array.from({ length: 100 }, (_, n) => one.beat('/w', 'me', n)))
      await turns(3)
      server.script.greet = () => 'expired'
      server.cut()
      await phaseOf(one, 'lost')
      for (const each of await open) assert.equal(each.status === 'rejected' && each.reason.code, 'outcome-unknown')
      await assert.rejects(one.read('/a'), { code: 'session-lost' })
      await clock.advance(10_000)
      await turns(10)
      assert.equal(server.hellos.length, 2)
    }))

  it('C-80: before anything was done in it a session that is over is replaced', () =>
    withServer(
      { greet: (_, connection) => (connection === 2 ? 'expired' : 'session') },
      async ({ server, one, connected }) => {
        server.script.answer = () => null
        await server.until(() => server.requests.length === 1)
        server.script.answer = undefined
        server.cut()
        await connected()
        assert.equal(server.hellos.length, 3)
        assert.equal(server.hellos[2]?.session, zeros)
        assert.equal(one.state().phase, 'connected')
      },
    ))

  it('C-81: closed while it connects, it leaves no connection and no dial behind', () =>
    withServer({ greet: () => 'silence' }, async ({ clock, server, one }) => {
      await server.until(() => server.hellos.length === 1)
      await one.close()
      assert.equal(one.state().phase, 'lost')
      server.greet()
      await clock.advance(60_000)
      await turns(10)
      assert.deepEqual([server.hellos.length, server.requests.length], [1, 0])
    }))

  it('C-81: a close that is not answered ends after two seconds', () =>
    withServer({}, async ({ clock, server, one, connected }) => {
      await connected()
      server.script.answer = () => null
      const read = assert.rejects(one.read('/a'))
      const closed = one.close()
      await server.until(() => server.requests.at(-1)?.type === kinds.closeSession)
      await clock.advance(2_000)
      await Promise.all([closed, read])
    }))

  it('C-83: what is asked for without a connection is refused, and not done when there is one', () =>
    withServer({}, async ({ server, one, connected }) => {
      await connected()
      server.script.greet = () => 'silence'
      const suspended = phaseOf(one, 'suspended')
      server.cut()
      await suspended
      await assert.rejects(one.write([set('/a')]), { code: 'coordination-unreachable' })
      await assert.rejects(one.beat('/w', 'me', 0), { code: 'coordination-unreachable' })
      await server.until(() => server.hellos.length === 2)
      server.greet()
      await connected()
      await one.read('/a')
      const types = server.requests.map(({ type }) => type)
      assert.ok(!types.includes(kinds.multi) && !types.includes(kinds.setData))
    }))

  it('C-85: after long silence a server with older data is taken too, before that not', () =>
    withServer({}, async ({ clock, server, one, connected }) => {
      await connected()
      await one.read('/a')
      server.script.greet = () => 'close'
      for (const [ms, old] of [
        [2_000, false],
        [700, false],
        [101, true],
      ] as const) {
        await clock.advance(ms)
        const dialled = server.hellos.length
        server.cut()
        await server.until(() => server.hellos.length > dialled + 1)
        assert.equal(server.hellos.at(-1)?.zxid === zeros, old, `${clock.nowMs()} ms`)
      }
    }))

  it('C-86: the timer of a dial that was given up does not cut the connection made later', async () => {
    await using hanging = await hangingAddress(randomPorts())
    const good = await scriptedServer({ timeoutMs: 300 })
    const clock = manualClock()
    const connect = `127.0.0.1:${hanging.address.port},127.0.0.1:${good.port}`
    const one = openZookeeper({ connect, sessionMs: 300, auth: null, clock: withTurns(clock), chance: () => 0 })
    try {
      await turns(5)
      await clock.advance(1_000)
      await phaseOf(one, 'connected')
      // One comes with each third of the session; the library gives a dial half of it.
      await good.until(() => good.requests.filter(({ type }) => type === kinds.ping).length === 4)
      assert.equal(good.hellos.length, 1)
    } finally {
      await one.close()
      await good.close()
    }
  })

  it('C-87: twenty watchers of a path are one at the server, and each is told once', () =>
    withServer({}, async ({ server, one, connected }) => {
      await connected()
      const before = server.requests.length
      const off = new AbortController()
      const told = Array.from({ length: 20 }, () => 0)
      for (const n of told.keys()) {
        one.watch('/a', 'data', () => told.splice(n, 1, (told[n] ?? 0) + 1), off.signal)
      }
      for (let change = 1; change <= 15; change++) {
        await one.read('/a')
        server.send(changed('data', '/a'))
        await server.until(() => asked() === change + 1)
        assert.deepEqual(new Set(told), new Set([change]))
      }
      function asked(): number {
        return server.requests.slice(before).filter(({ type }) => type === kinds.exists).length
      }
    }))

  it('C-87: what is made between the two questions for its children is hinted at, and then once a change', () =>
    withServer({}, async ({ server, one, connected }) => {
      await connected()
      const missing = [{ error: -101 }]
      server.script.answer = ({ type }) => (type === kinds.getChildren2 ? missing.pop() : undefined)
      let hints = 0
      one.watch('/a', 'children', () => hints++, new AbortController().signal)
      const asked = (times: number) => () =>
        server.requests.filter(({ type }) => type === kinds.getChildren2).length === times
      await server.until(asked(2))
      await one.read('/a')
      assert.equal(hints, 1)
      // A watch of the data stands too since the second question.
      server.send(changed('data', '/a'))
      await server.until(asked(3))
      await one.read('/a')
      const before = hints
      server.send(changed('children', '/a'))
      await server.until(asked(4))
      await one.read('/a')
      assert.equal(hints, before + 1)
    }))

  it('C-84: a changed login is added to the live session, and to the next connection', () =>
    withServer(
      { answer: request => aclAnswer(request.type) },
      async ({ server, one, connected }) => {
        await connected()
        const logins = () =>
          server.requests.filter(({ type }) => type === kinds.auth).map(({ body }) => body.toString())
        one.login({ user: 'fleet', password: new Secret('another', { name: 'auth', generation: 2 }) })
        await server.until(() => logins().length === 2)
        assert.equal((await one.read('/a'))?.version, 0)
        server.cut()
        await server.until(() => logins().length === 4)
        await connected()
        assert.match(logins()[1] ?? '', /fleet:another$/)
        assert.deepEqual(logins().slice(2), logins().slice(0, 2))
      },
      { auth },
    ))

  it('C-84: a login that is refused is told as denied and tried again', () =>
    withServer(
      { answer: ({ type }) => (type === kinds.auth ? { error: -115 } : aclAnswer(type)) },
      async ({ clock, server, one, connected }) => {
        await server.until(() => server.requests.length === 1)
        await turns(10)
        assert.equal(one.state().trouble?.code, 'coordination-denied')
        server.script.answer = request => aclAnswer(request.type)
        await clock.advance(1_000)
        await connected()
      },
      { auth },
    ))

  it('auth needs a path of its own: the root of ZooKeeper cannot be closed to others', () => {
    const options = { sessionMs: 4_000, auth, clock: manualClock(), chance: () => 0 }
    assert.throws(() => openZookeeper({ connect: 'zk:2181', ...options }), {
      code: 'config-invalid',
      hint: /^Write zk:2181\/millrace:/,
    })
  })

  it('what is no ZooKeeper at all is named in the trouble', () =>
    withServer({ greet: () => 'silence' }, async ({ server, one }) => {
      await server.until(() => server.hellos.length === 1)
      server.send(Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'))
      await server.until(() => server.hellos.length === 2)
      assert.match(
        one.state().trouble?.message ?? '',
        /^no ZooKeeper server serves us for 0 s: 127\.0\.0\.1:\d+ \(what it says is not ZooKeeper's protocol: a frame of \d+ bytes\)$/,
      )
    }))
})

/** Of a chroot that is there and ours. */
function aclAnswer(type: number) {
  const getAcl = 6
  if (type !== getAcl) return undefined
  // user fleet, password secret
  const id = Buffer.from('fleet:TUfNZWz3g3L1ka6tyYpfXItX8Jw=')
  return {
    error: 0,
    body: Buffer.concat([ints(1, 31, 6), Buffer.from('digest'), ints(id.length), id, Buffer.alloc(68)]),
  }
}

function ints(...values: number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length)
  for (const [n, value] of values.entries()) bytes.writeInt32BE(value, 4 * n)
  return bytes
}
