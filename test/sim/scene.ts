import type { Excuses } from './excuses.ts'
import type { Fleet, Process } from './fleet.ts'
import { type Broker, clusters } from './kafka/broker.ts'
import type { Network } from './network.ts'
import type { Operator } from './operator.ts'
import type { Steps } from './steps.ts'
import type { World } from './world.ts'
import type { Ensemble } from './zookeeper/ensemble.ts'

/** Everything that a fault may touch. */
export type Scene = {
  world: World
  network: Network
  ensemble: Ensemble
  broker: Broker
  fleet: Fleet
  excuses: Excuses
  operator: Operator
  steps: Steps
  /** When the last beat of a worker was committed. */
  lastBeatMs(id: string): number
  leader(): Process | null
  /** All faults are over by then, and those that cost the leader its office earlier. */
  calmMs: number
  calmLeaderMs: number
}

/** Begins something now that ends after so long, at the latest when calm begins. */
export function during({ world, calmMs }: Scene, ms: number, end: () => void): void {
  world.at(Math.min(calmMs, world.nowMs() + ms), end)
}

/** Nothing comes through any more, in one direction or in both, and nobody is told. */
export function block({ network, ensemble }: Scene, from: string, to: string, way: Way): () => void {
  const lines = [...(way === 'back' ? [] : [[from, to] as const]), ...(way === 'there' ? [] : [[to, from] as const])]
  for (const [a, b] of lines) network.line(a, b).blocked = true
  ensemble.lookAgain()
  return () => {
    for (const [a, b] of lines) {
      network.line(a, b).blocked = false
      network.mended(a, b)
    }
    ensemble.lookAgain()
  }
}
export type Way = 'both' | 'there' | 'back'

export function aWay({ world }: Scene): Way {
  return world.pick(['both', 'both', 'there', 'back'] as const)
}

/** A process and all of ZooKeeper. */
export function blockZookeeper(scene: Scene, id: string, way: Way): () => void {
  const mends = scene.ensemble.members.map(member => block(scene, id, member.name, way))
  return () => {
    for (const mend of mends) mend()
  }
}

/** Calm: nothing is cut, nobody stands still, all servers are there. */
export function heal(scene: Scene): void {
  const { network, ensemble, broker, fleet } = scene
  const servers = [...ensemble.members.map(member => member.name), ...clusters]
  const hosts = [...servers, 'operator', ...fleet.processes().map(one => one.id)]
  for (const from of hosts) {
    for (const to of hosts) {
      const line = network.line(from, to)
      const wasBlocked = line.blocked
      Object.assign(line, { fromMs: 0.2, toMs: 2, blocked: false, lossShare: 0 })
      if (wasBlocked) network.mended(from, to)
    }
  }
  for (const member of ensemble.members) {
    member.lagMs = 0
    ensemble.start(member)
  }
  Object.assign(ensemble.disk, { fromMs: 0.3, toMs: 3 })
  Object.assign(broker.serve, { fromMs: 0, toMs: 0 })
  broker.deniesStarts = false
  ensemble.hold.matches = null
  scene.steps.disarm()
  ensemble.lookAgain()
  for (const one of fleet.processes()) one.machine.goOn()
}
