import { makeExcuses } from './excuses.ts'
import { beginOne } from './faults.ts'
import { type Fleet, makeFleet } from './fleet.ts'
import { type Invariants, Violation, watchInvariants } from './invariants.ts'
import { type Broker, makeBroker } from './kafka/broker.ts'
import type { SimSpec } from './kind.ts'
import { makeNetwork } from './network.ts'
import { makeOperator } from './operator.ts'
import { heal, type Scene } from './scene.ts'
import { makeSteps } from './steps.ts'
import { makeWorld, type World } from './world.ts'
import { makeEnsemble } from './zookeeper/ensemble.ts'

export type SimOptions = {
  /** Clocks of 1 ± so much (C-111). */
  rateSpread: number
  /** Called with each line of the trace. */
  tell: ((line: string) => void) | null
}
export type SimResult = {
  seed: number
  failure: { invariant: string; message: string; atMs: number; last: string[] } | null
  /** Of the trace. */
  sum: string
  events: number
}

export const defaults: SimOptions = { rateSpread: 0.03, tell: null }

const sessionMs = 10_000
const firstFaultMs = 12_000
const faultsMs = 90_000
/** Most leaders have been in office for 30 s when all is judged: before that they make no voluntary move (C-25). */
const leaderFaultsMs = 68_000
/** After its 30 s a leader that came late has so long for its voluntary moves. */
const balancedAfterMs = 55_000
/** Of calm: until then all is put right, and stays so (I8). */
const rightAfterMs = 30_000
const judgedMs = 10_000
/** Of all units; so many that a seed stays below 40 000 events. */
const batchesPerSecond = 8
const judgeMs = 250

/** One fleet from one seed: 90 s of faults, 40 of calm, all by virtual time (C-111). */
export async function simulate(seed: number, options: SimOptions = defaults): Promise<SimResult> {
  const world = makeWorld(seed)
  world.trace.tell = options.tell
  // Nobody waits for it: in a process it would be the end.
  const unhandled = (error: unknown) => world.fail(error)
  process.on('unhandledRejection', unhandled)
  try {
    await play(world, options)
    return { seed, failure: null, sum: world.trace.sum(), events: world.events() }
  } catch (error) {
    const invariant = error instanceof Violation ? error.invariant : 'bug'
    const message = error instanceof Violation ? error.message : String((error as Error).stack ?? error)
    world.note(`violated ${message}`)
    const failure = { invariant, message, atMs: world.nowMs(), last: world.trace.last() }
    return { seed, failure, sum: world.trace.sum(), events: world.events() }
  } finally {
    process.off('unhandledRejection', unhandled)
  }
}

async function play(world: World, { rateSpread }: SimOptions): Promise<void> {
  const network = makeNetwork(world)
  const ensemble = makeEnsemble(world, network)
  const excuses = makeExcuses(world)
  const invariants = watchInvariants(world, ensemble, excuses, sessionMs)
  const broker = makeBroker(world, network, invariants)
  const steps = makeSteps(world, invariants.beatAnswered)
  const flows = declare(world, broker)
  const fleet = makeFleet({
    ...{ world, network, ensemble, excuses, steps, sessionMs, rateSpread, flows },
    invariants: () => invariants,
  })
  const leader = () => fleet.processes('controller').find(one => one.id === invariants.officer().host) ?? null
  const scene: Scene = {
    ...{ world, network, ensemble, broker, fleet, excuses, steps, leader, lastBeatMs: invariants.lastBeatMs },
    ...{ operator: makeOperator(fleet), calmMs: faultsMs, calmLeaderMs: leaderFaultsMs },
  }
  ensemble.hints.lossShare = world.happens(0.5) ? 0 : world.spanMs(0, 0.5)
  begin(world, fleet)
  plan(scene)
  world.at(faultsMs, () => calm(scene))
  await world.run(faultsMs + rightAfterMs)
  const { sinceMs } = invariants.officer()
  if (sinceMs + balancedAfterMs > world.nowMs()) await world.run(sinceMs + balancedAfterMs)
  world.after(0, () => judge(scene, invariants, world.nowMs() + judgedMs - judgeMs))
  await world.run(world.nowMs() + judgedMs)
}

function begin(world: World, fleet: Fleet): void {
  const controllers = 2 + Math.floor(world.chance() * 2)
  const workers = 3 + Math.floor(world.chance() * 4)
  const begins = [...Array(controllers).fill('controller'), ...Array(workers).fill('worker')] as const
  for (const role of begins) world.after(world.spanMs(0, 2_500), () => void fleet.start(role))
}

/** 20 to 60 units. */
function declare(world: World, broker: Broker): Map<string, SimSpec> {
  const units = 20 + Math.floor(world.chance() * 41)
  const everyMs = (units / batchesPerSecond) * 1_000
  const flows = new Map<string, SimSpec>()
  const deliveries = ['at-least-once', 'exactly-once', 'at-least-once'] as const
  for (const [index, delivery] of deliveries.entries()) {
    const flow = `f${index}`
    const topics = Array.from({ length: 1 + Math.floor(world.chance() * 3) }, (_, n) => `t${n}`)
    for (const topic of topics) {
      const partitions = Math.ceil(units / deliveries.length / topics.length)
      broker.addTopic(flow, topic, partitions, { exactlyOnce: delivery === 'exactly-once', everyMs })
    }
    flows.set(flow, { topics, delivery })
  }
  return flows
}

function plan(scene: Scene): void {
  const { world } = scene
  const count = 8 + Math.floor(world.chance() * 10)
  for (let n = 0; n < count; n++) world.at(world.spanMs(firstFaultMs, faultsMs), () => beginOne(scene))
}

/** The last fault is over: whoever is missing comes back, and what people asked for is taken back. */
function calm(scene: Scene): void {
  const { world, fleet, operator } = scene
  world.note('calm')
  heal(scene)
  operator.wish(wishes => ({ ...wishes, auto: true, drains: new Map(), moves: new Map() }))
  for (const flow of ['f0', 'f1', 'f2'])
    operator.flow(flow, doc => ({ ...doc, overlay: { ...doc.overlay, paused: new Map() } }))
  const missing = (role: 'controller' | 'worker', fewest: number) =>
    fewest - fleet.processes(role).filter(one => !one.isTerminating()).length
  for (let n = missing('controller', 2); n > 0; n--) fleet.start('controller')
  for (let n = missing('worker', 2); n > 0; n--) fleet.start('worker')
}

/** I8, from now on to the end. */
function judge(scene: Scene, invariants: Invariants, untilMs: number): void {
  const { world, broker, fleet } = scene
  const beganMs = world.nowMs()
  const look = () => {
    for (const { name } of broker.units.values()) {
      const ids = invariants.runs(name)
      const document = invariants.assigned(name)
      if (ids.length !== 1)
        throw new Violation('I8', `${name} runs on ${ids.length}, 30 s after the last fault; document of ${document}`)
      if (ids[0] !== document)
        throw new Violation('I8', `${name} runs on ${ids[0]}, stands in the document of ${document}`)
    }
    if (invariants.lastRoundMs() > beganMs) throw new Violation('I8', 'a round still writes 30 s after the last fault')
    if (world.nowMs() < untilMs) world.after(judgeMs, look)
    else {
      for (const unit of broker.units.values()) {
        const end = broker.end(unit)
        const isBehind = unit.low < end - 3 || (unit.checkpoint ?? 0) < end - 3 - 2_000 / unit.everyMs
        // Where nothing was written meanwhile there is nothing to go on with.
        if (isBehind)
          throw new Violation(
            'I8',
            `${unit.name} does not progress: end ${end}, there ${unit.low}, checkpoint ${unit.checkpoint}`,
          )
      }
    }
  }
  look()
  for (const name of invariants.lowered()) throw new Violation('I6', `${name}: the checkpoint is lower than it was`)
  world.note(`judged: ${fleet.processes('worker').length} workers, ${broker.units.size} units`)
}
