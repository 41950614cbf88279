import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { want } from '../../rig/part.ts'
import { type RigSet, rig } from '../../rig/set.ts'
import { fourLetters } from '../../rig/zookeeper/fourLetters.ts'
import { zookeeper } from '../../rig/zookeeper.ts'
import { live } from './rigFor.ts'

const wishes = () => ({
  alone: want(zookeeper, { maxSessionTimeoutMs: 3_000 }),
  closed: want(zookeeper, { demandSasl: true }),
  three: want(zookeeper, { members: 3 }),
})

/** A frame of ZooKeeper's protocol: its length before it. */
function frame(...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([int(body.length), body])
}

function int(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

const nothing = (bytes: number) => Buffer.alloc(bytes)

/** A session by hand: what time it was granted, and the server's error number for `exists /`; null = closed unheard. */
async function session(port: number, wantedMs: number): Promise<{ grantedMs: number; error: number | null }> {
  const socket = connect({ host: '127.0.0.1', port })
  // protocol version, last zxid seen, timeout, session, password, read-only
  const hello = [int(0), nothing(8), int(wantedMs), nothing(8), int(16), nothing(16), nothing(1)]
  socket.write(frame(...hello))
  const [welcome] = (await once(socket, 'data')) as [Buffer]
  const exists = [int(1), int(3), int(1), Buffer.from('/'), nothing(1)]
  socket.write(frame(...exists))
  const ended = once(socket, 'close').then(() => null)
  const answer = await Promise.race([once(socket, 'data'), ended])
  socket.destroy()
  return {
    grantedMs: welcome.readInt32BE(8),
    error: answer === null ? null : (answer[0] as Buffer).readInt32BE(16),
  }
}

async function modeOf(port: number): Promise<string> {
  return /^Mode: (\w+)/m.exec(await fourLetters(port, 'srvr'))?.[1] ?? 'none'
}

/** Asks again until one of the answers is that. */
async function untilSome(ask: () => Promise<string[]>, wanted: string): Promise<void> {
  while (!(await ask()).includes(wanted)) await new Promise(resolve => setImmediate(resolve))
}

describe('ZooKeeper', live, () => {
  let set: RigSet<ReturnType<typeof wishes>>
  before(async () => {
    set = await rig(wishes())
  })
  after(() => set.dispose())

  it('serves sessions, no longer ones than wanted', async () => {
    const [member] = set.parts.alone.members
    assert.ok(member)
    assert.equal(await modeOf(member.address.port), 'standalone')
    assert.deepEqual(await session(member.address.port, 2_000), { grantedMs: 2_000, error: 0 })
    assert.deepEqual(await session(member.address.port, 60_000), { grantedMs: 3_000, error: 0 })
  })

  it('gives each caller a root of its own', () => {
    const { alone } = set.parts
    const first = alone.chroot('lease')
    assert.match(first, /^127\.0\.0\.1:\d+\/millrace-lease-[0-9a-f]{12}$/)
    assert.ok(first.startsWith(alone.address.bootstrap))
    assert.notEqual(alone.chroot('lease'), first)
  })

  it('serves nobody without SASL when that is demanded', async () => {
    const { address, members } = set.parts.closed
    assert.equal(address.user?.name, 'millrace')
    const { error } = await session(members[0]?.address.port ?? 0, 2_000)
    // SESSIONCLOSEDREQUIRESASLAUTH
    assert.equal(error, -124)
  })

  it('elects another leader when the leader is killed, and takes it back as a follower', async () => {
    const { members } = set.parts.three
    const modes = await Promise.all(members.map(({ address }) => modeOf(address.port)))
    assert.deepEqual(modes.toSorted(), ['follower', 'follower', 'leader'])
    const first = members[modes.indexOf('leader')]
    assert.ok(first)
    const [pid] = first.pids
    await first.kill()
    // It would take part in the election, and might win again, if it came back before its end.
    const others = members.filter(member => member !== first)
    await untilSome(() => Promise.all(others.map(({ address }) => modeOf(address.port))), 'leader')
    await first.restart()
    assert.notEqual(first.pids[0], pid)
    const later = await Promise.all(members.map(({ address }) => modeOf(address.port)))
    assert.deepEqual(later.toSorted(), ['follower', 'follower', 'leader'])
    assert.equal(await modeOf(first.address.port), 'follower')
  })

  it('lets a member without its quorum be ready, and come back with the next', async () => {
    const { members } = set.parts.three
    await Promise.all(members.map(member => member.kill()))
    const [one, two, three] = members
    assert.ok(one && two && three)
    await one.restart()
    assert.equal(await modeOf(one.address.port), 'none')
    await two.restart()
    assert.match(await modeOf(two.address.port), /leader|follower/)
    await three.restart()
    assert.equal(await modeOf(three.address.port), 'follower')
  })
})
