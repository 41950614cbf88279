import { machineClock } from '../../engine/adapters/local/clock.ts'
import { openZookeeper, type ZookeeperOptions } from '../../engine/adapters/zookeeper/openZookeeper.ts'
import type { Coordinator } from '../../engine/ports/coordinator.ts'
import { randomPorts } from '../../rig/ports.ts'
import { type FaultProxy, proxy } from '../../rig/proxy.ts'
import type { CoordinatorUnderTest } from '../contracts/coordinator.ts'
import { phaseOf } from '../contracts/phaseOf.ts'

/** Where the members are, and a root of one's own below them. */
export type Ensemble = { members: { host: string; port: number }[]; chroot: string }

/** Opens a session straight to the servers `hosts`. */
export function openTo(hosts: string, chroot: string, more: Partial<ZookeeperOptions> = {}) {
  return openZookeeper({
    connect: `${hosts}${chroot}`,
    sessionMs: 4_000,
    auth: null,
    clock: machineClock(),
    chance: Math.random,
    ...more,
  })
}

export function hostsOf(all: { host: string; port: number }[]): string {
  return all.map(one => `${one.host}:${one.port}`).join(',')
}

/** Sessions each behind proxies of its own, one a member, so that a fault hits one of them alone. */
export async function proxiedSessions(
  { members, chroot }: Ensemble,
  more: Partial<ZookeeperOptions> = {},
): Promise<CoordinatorUnderTest & { lines(one: Coordinator): FaultProxy[] }> {
  const lines = new Map<Coordinator, FaultProxy[]>()
  const linesOf = (one: Coordinator) => lines.get(one) ?? []
  const all = (one: Coordinator, act: (line: FaultProxy) => Promise<void>) => Promise.all(linesOf(one).map(act))

  async function away(one: Coordinator, work: () => Promise<void>): Promise<void> {
    await all(one, line => line.set({ refuse: true }, {}))
    const suspended = phaseOf(one, 'suspended')
    await all(one, line => line.cut())
    await suspended
    try {
      await work()
    } finally {
      await all(one, line => line.heal())
    }
    await phaseOf(one, 'connected')
  }

  return {
    lines: linesOf,
    async open() {
      const mine = await Promise.all(members.map(member => proxy(member, { ports: randomPorts() })))
      const one = openTo(hostsOf(mine.map(line => line.address)), chroot, more)
      lines.set(one, mine)
      await phaseOf(one, 'connected')
      return one
    },
    away,
    async withoutAnswer(one, work) {
      await all(one, line => line.set({}, { blackHole: true }))
      const asked = Promise.race(linesOf(one).map(line => passed(line, 'up')))
      const working = work()
      await asked
      // Through the proxy and on the server's socket: that is answered within a few turns, and held here.
      await new Promise(resolve => setTimeout(resolve, 50))
      await all(one, line => line.cut())
      await working
      await all(one, line => line.heal())
      await phaseOf(one, 'connected')
    },
    async expire(one) {
      const lost = phaseOf(one, 'lost')
      await all(one, line => line.set({ refuse: true }, {}))
      await all(one, line => line.cut())
      // Only a server can say that a session is over.
      await new Promise(resolve => setTimeout(resolve, one.state().timeoutMs + 1_500))
      await all(one, line => line.heal())
      await lost
    },
    async dispose() {
      await Promise.all([...lines.keys()].map(one => one.close()))
      await Promise.all([...lines.values()].flat().map(line => line.stop()))
    },
  }
}

function passed(line: FaultProxy, direction: 'up' | 'down'): Promise<void> {
  return new Promise(resolve => {
    const off = line.on('bytes', which => {
      if (which !== direction) return
      off()
      resolve()
    })
  })
}
