import { after, before, describe } from 'node:test'
import { Secret } from '../../engine/flow/secret.ts'
import { want } from '../../rig/part.ts'
import { type RigSet, rig } from '../../rig/set.ts'
import { zookeeper } from '../../rig/zookeeper.ts'
import { coordinatorContract } from '../contracts/coordinator.ts'
import { proxiedSessions } from './proxiedSessions.ts'
import { live } from './rigFor.ts'

const wishes = () => ({ zk: want(zookeeper, {}) })

describe('the coordinator on ZooKeeper', live, () => {
  let set: RigSet<ReturnType<typeof wishes>>
  before(async () => {
    set = await rig(wishes())
  })
  after(() => set.dispose())

  const rooted = () => {
    const { zk } = set.parts
    return { members: zk.members.map(member => member.address), chroot: zk.chroot('contract').replace(/^[^/]*/, '') }
  }

  coordinatorContract('COORDINATION 8: the contract of a coordinator holds on ZooKeeper, behind a proxy', () =>
    proxiedSessions(rooted()),
  )

  coordinatorContract('COORDINATION 8: the contract of a coordinator holds on ZooKeeper with auth', () =>
    proxiedSessions(rooted(), {
      auth: { user: 'fleet', password: new Secret('pass:word', { name: 'auth', generation: 1 }) },
    }),
  )
})
