import type { Coordinator, Phase } from '../../../engine/ports/coordinator.ts'
import { coordinatorContract } from '../../contracts/coordinator.ts'
import { makeMachine } from '../machine.ts'
import { makeNetwork } from '../network.ts'
import { makeWorld } from '../world.ts'
import { openVirtual } from './client.ts'
import { makeEnsemble } from './ensemble.ts'

coordinatorContract('the ZooKeeper of the simulation', async () => {
  const world = makeWorld(7)
  const network = makeNetwork(world)
  const ensemble = makeEnsemble(world, network)
  const servers = ensemble.members.map(member => member.name)
  const hosts = new Map<Coordinator, string>()
  let running = true
  const drive = async () => {
    while (running) await world.run(world.nowMs() + 100)
  }
  const driven = drive()

  const reaches = (one: Coordinator, wanted: Phase) =>
    new Promise<void>(resolve => {
      if (one.state().phase === wanted) return resolve()
      one.changed(phase => phase === wanted && resolve(), new AbortController().signal)
      return undefined
    })
  const block = (one: Coordinator, way: 'both' | 'answers', blocked: boolean) => {
    const host = hosts.get(one) ?? ''
    for (const server of servers) {
      network.line(server, host).blocked = blocked
      if (way === 'both') network.line(host, server).blocked = blocked
    }
  }
  const cut = (one: Coordinator) => {
    for (const server of servers) network.cutAll(hosts.get(one) ?? '', server)
  }

  return {
    async open() {
      const machine = makeMachine(world, `p${hosts.size + 1}`, 1)
      const one = openVirtual({ machine, network, servers, sessionMs: 10_000, chance: world.chance })
      hosts.set(one, machine.name)
      await reaches(one, 'connected')
      return one
    },
    async away(one, work) {
      cut(one)
      await reaches(one, 'suspended')
      block(one, 'both', true)
      await work()
      block(one, 'both', false)
      await reaches(one, 'connected')
    },
    async withoutAnswer(one, work) {
      block(one, 'answers', true)
      // What was asked arrives; its answer does not, and then the connection goes.
      world.after(1_000, () => {
        block(one, 'answers', false)
        cut(one)
      })
      await work()
      await reaches(one, 'connected')
    },
    async expire(one) {
      ensemble.expire(one.state().session ?? '')
      await reaches(one, 'lost')
    },
    async dispose() {
      running = false
      await driven
    },
  }
})
