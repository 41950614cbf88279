import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Op } from '../../engine/ports/coordinator.ts'
import { want } from '../../rig/part.ts'
import { type RigSet, rig } from '../../rig/set.ts'
import { zookeeper } from '../../rig/zookeeper.ts'
import { phaseOf } from '../contracts/phaseOf.ts'
import { hostsOf, openTo, proxiedSessions } from './proxiedSessions.ts'
import { live } from './rigFor.ts'

const wishes = () => ({ alone: want(zookeeper, {}), three: want(zookeeper, { members: 3 }) })
const mine: Op = { do: 'create', path: '/mine', data: 'kept', mode: 'ephemeral' }

describe('the coordinator on ZooKeeper whose members come and go', live, () => {
  let set: RigSet<ReturnType<typeof wishes>>
  before(async () => {
    set = await rig(wishes())
  })
  after(() => set.dispose())

  const chrootOf = (text: string) => text.replace(/^[^/]*/, '')

  it('a session goes on with another member when its own is killed, with what belongs to it', async () => {
    const { three } = set.parts
    const sessions = await proxiedSessions(
      { members: three.members.map(member => member.address), chroot: chrootOf(three.chroot('members')) },
      { sessionMs: 10_000 },
    )
    try {
      const one = await sessions.open()
      const { session } = one.state()
      await one.write([mine])
      for (let times = 0; times < 3; times++) {
        // The one whose proxy has carried the most since the last time serves it.
        const before = sessions.lines(one).map(line => line.count.downBytes)
        await one.read('/mine')
        const at = sessions.lines(one).findIndex((line, n) => line.count.downBytes > (before[n] ?? 0))
        const member = three.members[at]
        assert.ok(member)
        const suspended = phaseOf(one, 'suspended')
        await member.kill()
        await suspended
        await phaseOf(one, 'connected')
        const node = await one.read('/mine')
        assert.deepEqual([one.state().session, node?.owner, node?.data], [session, session, 'kept'])
        await member.restart()
      }
    } finally {
      await sessions.dispose()
    }
  })

  it('C-85: after an outage in which nothing was answered for 0.7 of its time-out it is the same session', async () => {
    const { alone } = set.parts
    const one = openTo(hostsOf(alone.members.map(member => member.address)), chrootOf(alone.chroot('outage')))
    try {
      await phaseOf(one, 'connected')
      await one.write([mine])
      const { session } = one.state()
      await alone.kill()
      await phaseOf(one, 'suspended')
      await new Promise(resolve => setTimeout(resolve, 3_500))
      assert.match(one.state().trouble?.message ?? '', /ECONNREFUSED/)
      await alone.restart()
      await phaseOf(one, 'connected')
      assert.deepEqual([one.state().session, (await one.read('/mine'))?.owner], [session, session])
    } finally {
      await one.close()
    }
  })

  it('C-85: on a ZooKeeper whose data was wiped the session is over, and another one works', async () => {
    const { alone } = set.parts
    const place = chrootOf(alone.chroot('wiped'))
    const hosts = hostsOf(alone.members.map(member => member.address))
    const [one, another] = [openTo(hosts, place), openTo(hosts, place)]
    try {
      await phaseOf(one, 'connected')
      await one.write([mine])
      for (let n = 0; n < 20; n++) await one.beat('/mine', String(n), n)
      await another.close()
      const lost = phaseOf(one, 'lost')
      await alone.kill()
      rmSync(join(set.dir, 'zookeeper.alone', 'data-1', 'version-2'), { recursive: true })
      await alone.restart()
      await lost
      const next = openTo(hosts, place)
      try {
        await phaseOf(next, 'connected')
        assert.equal(await next.read('/mine'), null)
        assert.ok((await next.write([mine])).done)
      } finally {
        await next.close()
      }
    } finally {
      await one.close()
    }
  })
})
