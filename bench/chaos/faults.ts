import { setTimeout as delay } from 'node:timers/promises'
import type { KafkaCluster } from '../../rig/kafka.ts'
import { between } from '../../rig/seeded.ts'
import type { Zookeeper } from '../../rig/zookeeper.ts'
import type { Scene, Wired } from '../../test/live/fleet/scene.ts'
import { type FaultName as LineFault, lineFaults, spoil } from '../soak/lineFaults.ts'

export type Around = {
  scene: Scene
  zk: Zookeeper
  clusters: { east: KafkaCluster; west: KafkaCluster }
  chance: () => number
  signal: AbortSignal
}

/** `clean`: nothing may be there twice after it (COORDINATION 12, 14, 15, 20, MIRROR M-45). */
type Fault = {
  clean: boolean
  /** Ends when it is over and what it took away is there again; says what it did. */
  act(around: Around): Promise<string>
}

const few = { fromMs: 500, toMs: 3_000 }
/** Past the fence and the takeover of a session of 10 s, and not. */
const some = { fromMs: 1_000, toMs: 16_000 }

/** Each of COORDINATION 11 to 18 and 20, in the words of `--only`. */
export const faults = {
  kill: {
    clean: false,
    async act(around) {
      const victim = someWorker(around)
      await victim.task.kill()
      const waited = await held(around, some)
      await around.scene.join('worker')
      return `${victim.task.id} killed, another one after ${waited}`
    },
  },
  stop: { clean: true, act: around => leave(around, 'worker', someWorker(around)) },
  freeze: { clean: false, act: around => freeze(around, someWorker(around)) },
  'kill-leader': {
    clean: true,
    async act(around) {
      const victim = await leaderOf(around)
      await victim.task.kill()
      const waited = await held(around, few)
      await around.scene.join('controller')
      return `${victim.task.id} killed, another one after ${waited}`
    },
  },
  'stop-leader': { clean: true, act: async around => leave(around, 'controller', await leaderOf(around)) },
  'freeze-leader': { clean: true, act: async around => freeze(around, await leaderOf(around)) },
  'kill-both': {
    clean: false,
    async act(around) {
      const victims = [someWorker(around), await leaderOf(around)]
      await Promise.all(victims.map(victim => victim.task.kill()))
      const waited = await held(around, some)
      await Promise.all([around.scene.join('worker'), around.scene.join('controller')])
      return `${victims.map(victim => victim.task.id).join(' and ')} killed, others after ${waited}`
    },
  },
  'zk-stop': {
    clean: true,
    async act(around) {
      await around.zk.kill()
      const waited = await held(around, some)
      await around.zk.restart()
      return `ZooKeeper killed, started after ${waited}`
    },
  },
  /** Of three; the only one of one. */
  'zk-member': {
    clean: true,
    async act(around) {
      const member = pick(around.chance, around.zk.members)
      await member.kill()
      const waited = await held(around, few)
      await member.restart()
      return `${member.name} killed, started after ${waited}`
    },
  },
  'zk-freeze': {
    clean: true,
    async act(around) {
      await around.zk.pause()
      const waited = await held(around, some)
      around.zk.resume()
      return `ZooKeeper silent for ${waited}`
    },
  },
  'zk-hole': {
    clean: false,
    async act(around) {
      const victim = someWorker(around)
      const hole = { blackHole: true }
      await Promise.all(victim.lines.map(line => line.set(hole, hole)))
      const waited = await held(around, some)
      await Promise.all(victim.lines.map(line => line.heal()))
      return `nothing between ${victim.task.id} and ZooKeeper for ${waited}`
    },
  },
  'zk-cut': {
    clean: true,
    async act(around) {
      const times = between(around.chance, 1, 6)
      for (let n = 0; n < times; n++) {
        await Promise.all(all(around).map(one => Promise.all(one.lines.map(line => line.cut()))))
        await held(around, { fromMs: 50, toMs: 600 })
      }
      return `all lines to ZooKeeper cut ${times} times`
    },
  },
  broker: {
    clean: true,
    async act(around) {
      const cluster = someCluster(around)
      await cluster.kill()
      const waited = await held(around, few)
      await cluster.restart()
      return `${cluster.name} killed, started after ${waited}`
    },
  },
  lines: {
    clean: true,
    async act(around) {
      const { chance, signal } = around
      const cluster = someCluster(around)
      const name = pick(chance, lineFaults) as LineFault
      await Promise.all(cluster.proxies.map(line => spoil(line, name, chance, signal)))
      await Promise.all(cluster.proxies.map(line => line.heal()))
      return `lines of ${cluster.name}: ${name}`
    },
  },
  drain: {
    clean: true,
    async act(around) {
      const { api } = around.scene.fleet
      const { id } = someWorker(around).task
      await api.until(one => one.ask('POST', `/v1/workers/${id}/drain`), accepted)
      const waited = await held(around, { fromMs: 0, toMs: 3_000 })
      await api.until(one => one.ask('POST', `/v1/workers/${id}/undrain`), accepted)
      return `${id} drained for ${waited}`
    },
  },
  rebalance: {
    clean: true,
    async act(around) {
      await around.scene.fleet.api.until(api => api.ask('POST', '/v1/rebalance'), accepted)
      return 'rebalance asked for'
    },
  },
  pause: {
    clean: true,
    async act(around) {
      const { api } = around.scene.fleet
      await api.until(one => one.ask('POST', '/v1/flows/clicks/pause?wait=10'), accepted)
      const waited = await held(around, few)
      await api.until(one => one.ask('POST', '/v1/flows/clicks/resume'), accepted)
      return `flow paused for ${waited}`
    },
  },
  join: {
    clean: true,
    async act(around) {
      const joined = await around.scene.join('worker')
      const waited = await held(around, { fromMs: 0, toMs: 12_000 })
      await stopped(joined)
      return `${joined.task.id} joined for ${waited}`
    },
  },
} as const satisfies Record<string, Fault>

export type FaultKind = keyof typeof faults
export const faultKinds = Object.keys(faults) as FaultKind[]

const accepted = ({ status }: { status: number }) => status < 400

/** The next one is there before it goes, or after: as deployments do it. */
async function leave(around: Around, group: 'worker' | 'controller', victim: Wired): Promise<string> {
  const isBefore = around.chance() < 0.5
  if (isBefore) await around.scene.join(group)
  await stopped(victim)
  if (!isBefore) await around.scene.join(group)
  return `${victim.task.id} told to stop, another one ${isBefore ? 'before' : 'after'}`
}

async function stopped({ task }: Wired): Promise<void> {
  const { code, signal } = await task.stop()
  if (code !== 0) throw new Error(`${task.id} ended with ${code ?? signal} on SIGTERM:\n${task.text()}`)
}

async function freeze(around: Around, victim: Wired): Promise<string> {
  victim.task.pause()
  const waited = await held(around, some)
  victim.task.resume()
  return `${victim.task.id} frozen for ${waited}`
}

async function held({ chance, signal }: Around, span: { fromMs: number; toMs: number }): Promise<string> {
  const ms = between(chance, span.fromMs, span.toMs)
  await delay(ms, undefined, { signal })
  return `${(ms / 1_000).toFixed(1)} s`
}

function all({ scene }: Around): Wired[] {
  return [...scene.workers, ...scene.controllers].filter(one => one.task.awake())
}

function someWorker({ scene, chance }: Around): Wired {
  return pick(
    chance,
    scene.workers.filter(one => one.task.awake()),
  )
}

async function leaderOf({ scene }: Around): Promise<Wired> {
  return await scene.fleet.api.until(
    async api => {
      const { leader } = await api.done('GET', '/v1/status')
      return scene.controllers.find(one => one.task.id === leader && one.task.awake()) as Wired
    },
    found => found !== undefined,
  )
}

function someCluster({ clusters, chance }: Around): KafkaCluster {
  return pick(chance, [clusters.east, clusters.west])
}

function pick<T>(chance: () => number, of: readonly T[]): T {
  const found = of[between(chance, 0, of.length - 1)]
  if (found === undefined) throw new Error('nothing to choose from')
  return found
}
