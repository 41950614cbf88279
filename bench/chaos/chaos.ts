import { appendFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { type KafkaCluster, kafka } from '../../rig/kafka.ts'
import { want } from '../../rig/part.ts'
import { between, seeded } from '../../rig/seeded.ts'
import { rig } from '../../rig/set.ts'
import { zookeeper } from '../../rig/zookeeper.ts'
import type { WorkerSeen } from '../../test/live/fleet/api.ts'
import { isSettled } from '../../test/live/fleet/runningFleet.ts'
import { type Audit, type Mark, type Scene, startScene, type Wired } from '../../test/live/fleet/scene.ts'
import { type Around, type FaultKind, faultKinds, faults } from './faults.ts'
import { type Memory, watchMemory } from './memory.ts'

export type ChaosPlan = {
  seed: number
  seconds: number
  workers: number
  controllers: number
  partitions: number
  perSecond: number
  sessionMs: number
  zookeepers: 1 | 3
  /** Of which kinds a fault is drawn. */
  kinds: readonly FaultKind[]
  /** A file for all that the processes say; null = none. */
  log: string | null
  /** Another way to end it; what was found until then is told. */
  stop: AbortSignal
}

/** One fault and what came of it, until all units were held again and all that was written had arrived. */
export type Struck = Audit & { kind: FaultKind; what: string; atSeconds: number; recoveredMs: number }

export type ChaosResult = {
  plan: Omit<ChaosPlan, 'stop' | 'log'>
  seconds: number
  struck: Struck[]
  /** Of the whole run. */
  records: number
  lost: number
  repeated: number
  outOfOrder: number
  moves: number
  memory: Memory[]
  /** What must not have happened, in words. */
  wrong: string[]
}

export const chaosPlan = {
  workers: 3,
  controllers: 2,
  partitions: 60,
  perSecond: 3_000,
  sessionMs: 10_000,
  zookeepers: 1,
  kinds: faultKinds,
} as const satisfies Partial<ChaosPlan>

const recoverMs = 120_000
const quiet = { fromMs: 500, toMs: 3_000 }

/**
 * A fleet under load, and one fault by chance after another, each when the one before is got over (COORDINATION 24).
 * What is done is seeded; when it happens is not.
 */
export async function chaos(plan: ChaosPlan, say: (line: string) => void): Promise<ChaosResult> {
  const broker = want(kafka, { proxied: true })
  await using set = await rig({ east: broker, west: broker, zk: want(zookeeper, { members: plan.zookeepers }) })
  const { east, west, zk } = set.parts
  const { topic, members } = { topic: 'chaos', members: zk.members.map(member => member.address) }
  const over = new AbortController()
  const scene = await startScene(
    {
      ...plan,
      topic,
      east: lineOf(east),
      west: lineOf(west),
      zookeeper: { members, chroot: zk.chroot('chaos') },
    },
    over.signal,
  )
  const tasks = () => [...scene.workers, ...scene.controllers].map(({ task }) => task)
  const memory = watchMemory(() => [
    ...scene.workers.map(({ task }) => ({ group: 'worker', id: task.id, pid: task.pid }) as const),
    ...scene.controllers.map(({ task }) => ({ group: 'controller', id: task.id, pid: task.pid }) as const),
  ])
  try {
    const clusters = { east, west }
    const around = { scene, zk, clusters, chance: seeded(`chaos ${plan.seed}`), signal: over.signal }
    const startedMs = performance.now()
    const first = scene.mark()
    const struck: Struck[] = []
    const wrong: string[] = []
    try {
      await strike(plan, around, { startedMs, struck, wrong, say })
    } catch (error) {
      wrong.push(error instanceof Error ? (error.stack ?? error.message) : String(error))
    }
    const found = await ended(scene, first)
    const { stop, log, ...sizes } = plan
    return {
      plan: sizes,
      seconds: Math.round((performance.now() - startedMs) / 1_000),
      struck,
      ...found,
      memory: memory.found(),
      wrong: [...wrong, ...found.wrong],
    }
  } finally {
    memory.stop()
    if (plan.log !== null)
      for (const task of tasks()) appendFileSync(plan.log, `${task.id} ${task.pid}\n${task.text()}\n`)
    await scene.end()
    over.abort()
  }
}

type Strikes = { startedMs: number; struck: Struck[]; wrong: string[]; say: (line: string) => void }

async function strike(plan: ChaosPlan, around: Around, { startedMs, struck, wrong, say }: Strikes): Promise<void> {
  const { scene, chance } = around
  const secondsNow = () => Math.round((performance.now() - startedMs) / 1_000)
  let bag: FaultKind[] = []
  while (secondsNow() < plan.seconds && !plan.stop.aborted) {
    if (bag.length === 0) bag = [...plan.kinds]
    const [kind] = bag.splice(between(chance, 0, bag.length - 1), 1) as [FaultKind]
    const mark = scene.mark()
    const [atSeconds, quietMs] = [secondsNow(), between(chance, quiet.fromMs, quiet.toMs)]
    say(`${kind} …`)
    const what = await faults[kind].act(around)
    const overMs = performance.now()
    await settled(plan, scene)
    await flowing(plan, scene)
    const recoveredMs = Math.round(performance.now() - overMs)
    const audit = await scene.since(mark)
    const one = { ...audit, kind, what, atSeconds, recoveredMs }
    struck.push(one)
    wrong.push(...wrongIn(one), ...deathsIn(scene, kind))
    say(`${kind}: ${what}; ${wordsOf(one)}`)
    await delay(quietMs)
  }
}

/** Who was lost too often gets nothing for five minutes (C-52): then another one takes its place. */
async function settled({ partitions, workers: count }: ChaosPlan, { fleet, workers, join }: Scene): Promise<void> {
  const of = { units: partitions, workers: count }
  const isOut = (worker: WorkerSeen) => worker.state === 'quarantined'
  // One that was killed holds its units until its lease is over.
  const lives = (id: string) => workers.some(({ task }) => task.id === id && task.awake())
  for (;;) {
    const seen = await fleet.api.until(
      api => api.workers(),
      found => found.some(isOut) || (isSettled(found, of) && found.every(({ id, held }) => held === 0 || lives(id))),
      recoverMs,
    )
    const out = seen.filter(isOut).map(({ id }) => workers.find(({ task }) => task.id === id && task.awake()))
    if (out.length === 0) return
    for (const one of out) {
      if (one === undefined) continue
      await one.task.stop()
      await join('worker')
    }
  }
}

/** Until a second of new records has arrived in each partition: those who write have to get over it too. */
async function flowing({ perSecond, partitions }: ChaosPlan, { load, arrivals }: Scene): Promise<void> {
  const late = new AbortController()
  const tooLate = delay(recoverMs, undefined, { signal: late.signal, ref: false }).then(() => {
    throw new Error(`${arrivals.parts.length} partitions do not all move within ${recoverMs} ms`)
  })
  tooLate.catch(() => {})
  try {
    const wanted = load.acked.map(count => count + Math.floor(perSecond / partitions))
    await Promise.race([arrivals.reached(wanted), tooLate])
  } finally {
    late.abort()
  }
}

function wrongIn(one: Struck): string[] {
  const at = `${one.kind} at ${one.atSeconds} s (${one.what})`
  const found: string[] = []
  if (one.lost > 0) found.push(`${at}: ${one.lost} records lost`)
  if (one.outOfOrder > 0) found.push(`${at}: ${one.outOfOrder} records out of order`)
  if (one.repeated > 0 && faults[one.kind].clean) found.push(`${at}: ${one.repeated} records twice`)
  return found
}

/** Each is named once. */
const named = new WeakSet<Wired>()

/** No process may be dead but the killed ones. */
function deathsIn({ workers, controllers }: Scene, kind: FaultKind): string[] {
  return [...workers, ...controllers].flatMap(one => {
    const { task } = one
    const { exitCode, signalCode } = task.child
    if (named.has(one) || (exitCode === null && signalCode === null)) return []
    named.add(one)
    if (exitCode === 0 || signalCode === 'SIGKILL') return []
    return [`${task.id} died in ${kind} with ${exitCode ?? signalCode}:\n${task.text()}`]
  })
}

/** Ends the load and then, in order, the fleet. */
async function ended(scene: Scene, first: Mark) {
  await scene.load.stop()
  const { lost, moves } = await scene.since(first)
  const now = scene.mark()
  const wrong: string[] = []
  if (lost > 0) wrong.push(`${lost} records lost in all`)
  for (const { task } of [...scene.controllers, ...scene.workers]) {
    if (!task.awake()) continue
    const { code, signal } = await task.stop()
    if (code !== 0) wrong.push(`${task.id} ended with ${code ?? signal} on SIGTERM:\n${task.text()}`)
  }
  return { records: now.records, lost, repeated: now.repeated, outOfOrder: now.outOfOrder, moves, wrong }
}

export function wordsOf({ recoveredMs, gapMs, repeated, moves }: Struck): string {
  return `over after ${(recoveredMs / 1_000).toFixed(1)} s, longest gap ${gapMs} ms, ${repeated} twice, ${moves} moves`
}

/** The line before the one broker of a cluster. */
function lineOf({ proxies }: KafkaCluster): { host: string; port: number } {
  const [line] = proxies
  if (line === undefined) throw new Error('a cluster without a line before it')
  return line.address
}
