import type { TestContext } from 'node:test'
import type { KafkaCluster } from '../../../engine/ports/kafka.ts'
import { openPlain } from '../../../rig/openPlain.ts'
import { randomPorts } from '../../../rig/ports.ts'
import { type Address, type FaultProxy, proxy } from '../../../rig/proxy.ts'
import { mirrorFlow } from '../flowsFile.ts'
import { hostsOf, openTo } from '../proxiedSessions.ts'
import { type Arrivals, auditOf, watchArrivals } from './arrivals.ts'
import { type FleetWords, fleetFile } from './file.ts'
import { type Load, startLoad } from './load.ts'
import { type Owners, watchOwners } from './owners.ts'
import { type RunningFleet, runFleet } from './runningFleet.ts'
import { type Request, tap } from './tap.ts'
import type { RunningTask } from './tasks.ts'

/** A process of the fleet with lines of its own: one to each ZooKeeper, and those to the brokers on which its writes are seen. */
export type Wired = {
  task: RunningTask
  lines: FaultProxy[]
  /** What it wrote to the destination, and its checkpoints at the source (M-42). */
  produces(sinceMs?: number): Request[]
  commits(sinceMs?: number): Request[]
}

export type Mark = { atMs: number; records: number; repeated: number; outOfOrder: number; moves: number }
/** Of what was written until now and has arrived since the mark. */
export type Audit = { lost: number; repeated: number; outOfOrder: number; moves: number; gapMs: number }

export type Scene = {
  fleet: RunningFleet
  workers: Wired[]
  controllers: Wired[]
  owners: Owners
  arrivals: Arrivals
  load: Load
  mark(): Mark
  /** Waits until all that is acknowledged by now has arrived. */
  since(mark: Mark): Promise<Audit>
  /** Another process, with lines of its own. */
  join(group: 'controller' | 'worker'): Promise<Wired>
  /** By the API: each worker that lives has its share. */
  even(workers: number): Promise<void>
  end(): Promise<void>
}

export type SceneHow = {
  /** `host:port` of the one broker of each. */
  east: Address
  west: Address
  zookeeper: { members: { host: string; port: number }[]; chroot: string }
  sessionMs: number
  controllers: number
  workers: number
  topic: string
  partitions: number
  perSecond: number
}

const numbersMax = 60_000
const arriveMs = 60_000

/** A fleet under an even load with numbers, each process of which can be cut off by itself. */
export async function startScene(how: SceneHow, outer: AbortSignal): Promise<Scene> {
  const ends: (() => unknown)[] = []
  const t = { after: ((end: () => unknown) => void ends.push(end)) as TestContext['after'] }
  const ended = new AbortController()
  const signal = AbortSignal.any([outer, ended.signal])
  const [east, west] = [openOf('east', how.east), openOf('west', how.west)]
  ends.push(() => Promise.all([east.close(), west.close()]))
  const { members, chroot } = how.zookeeper
  const place = chroot.slice(chroot.indexOf('/'))
  const flows = { clicks: mirrorFlow([how.topic]) }
  const { topic, partitions } = how
  await east.admin.createTopic(topic, partitions)
  const straight = { east: hostsOf([how.east]), west: hostsOf([how.west]), zookeeper: chroot }
  const fleet = await runFleet(t, { ...straight, controllers: 0, workers: 0, flows }, signal)

  async function join(group: 'controller' | 'worker'): Promise<Wired> {
    const lines = await Promise.all(members.map(member => proxy(member, { ports: randomPorts() })))
    const [from, to] = [await tap(how.east), await tap(how.west)]
    ends.push(() => Promise.all([...lines.map(line => line.stop()), from.stop(), to.stop()]))
    const wired: FleetWords = {
      sessionMs: how.sessionMs,
      east: hostsOf([from.address]),
      west: hostsOf([to.address]),
      addresses: {
        [hostsOf([how.east])]: hostsOf([from.address]),
        [hostsOf([how.west])]: hostsOf([to.address]),
      },
      zookeeper: `${hostsOf(lines.map(line => line.address))}${place}`,
    }
    const task = await fleet.join(group, fleetFile(t, wired, flows).path)
    const found: Wired = {
      task,
      lines,
      produces: (sinceMs = 0) => to.requests.filter(one => one.api === 'produce' && one.atMs >= sinceMs),
      commits: (sinceMs = 0) => from.requests.filter(one => one.api === 'commit' && one.atMs >= sinceMs),
    }
    ;(group === 'worker' ? workers : controllers).push(found)
    return found
  }

  const workers: Wired[] = []
  const controllers: Wired[] = []
  const end = async () => {
    await fleet.stop().catch(() => {})
    ended.abort()
    for (const one of ends.reverse()) await one()
  }
  try {
    const all = (group: 'controller' | 'worker', n: number) => Array.from({ length: n }, () => join(group))
    await Promise.all([...all('controller', how.controllers), ...all('worker', how.workers)])
    await fleet.settled({ units: partitions, workers: how.workers })
    const open = () => openTo(hostsOf(members), place, { sessionMs: 10_000 })
    const owners = watchOwners(open, signal)
    ends.push(owners.stop)
    await owners.until(found => found.size === partitions)
    const load = startLoad(east, { topic, partitions, perSecond: how.perSecond }, signal)
    const arrivals = await watchArrivals(west, topic, { partitions, numbersMax }, signal)
    ends.push(arrivals.stop)
    await arrivals.reached(Array.from({ length: partitions }, () => 20))
    const parts = { fleet, workers, controllers, owners, arrivals, load, join, end }
    return { ...parts, ...audits(parts), even: count => even(fleet, { count, partitions }) }
  } catch (error) {
    await end()
    throw error
  }
}

function openOf(name: string, at: Address): KafkaCluster {
  return openPlain(name, hostsOf([at]))
}

function audits({ arrivals, load, owners }: Pick<Scene, 'arrivals' | 'load' | 'owners'>) {
  const sum = (of: 'records' | 'repeated' | 'outOfOrder') => arrivals.parts.reduce((all, part) => all + part[of], 0)
  const mark = (): Mark => ({
    atMs: performance.now(),
    records: sum('records'),
    repeated: sum('repeated'),
    outOfOrder: sum('outOfOrder'),
    moves: owners.moves(),
  })
  return {
    mark,
    async since(before: Mark): Promise<Audit> {
      const written = [...load.acked]
      await Promise.race([arrivals.reached(written), new Promise(resolve => setTimeout(resolve, arriveMs).unref())])
      const { lost, longestGapMs } = auditOf(arrivals.parts, written, { fromMs: before.atMs, toMs: performance.now() })
      const now = mark()
      return {
        lost,
        repeated: now.repeated - before.repeated,
        outOfOrder: now.outOfOrder - before.outOfOrder,
        moves: now.moves - before.moves,
        gapMs: Math.round(longestGapMs),
      }
    },
  }
}

async function even(fleet: RunningFleet, { count, partitions }: { count: number; partitions: number }): Promise<void> {
  const isEven = (held: number) => held === 0 || Math.abs(held - partitions / count) <= 1
  await fleet.api.until(
    async api => {
      const seen = (await api.workers()).filter(worker => worker.record !== null)
      const isDone = seen.filter(worker => worker.held > 0).length === count && seen.every(({ held }) => isEven(held))
      const isStill = seen.every(({ units, held }) => units === held)
      if (!isDone && isStill) await api.done('POST', '/v1/rebalance')
      return isDone
    },
    isDone => isDone,
  )
}
