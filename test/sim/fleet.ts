import type { Codec } from '../../engine/batch/codec.ts'
import type { Crc } from '../../engine/batch/crc.ts'
import { type Controller, startController } from '../../engine/fleet/controller.ts'
import type { Kinds } from '../../engine/fleet/kinds.ts'
import { type FleetWorker, startFleetWorker } from '../../engine/fleet/worker.ts'
import type { FlowEvent } from '../../engine/flow/event.ts'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import type { Excuses } from './excuses.ts'
import { type Invariants, type Suspect, Violation } from './invariants.ts'
import type { ClusterName } from './kafka/broker.ts'
import { openSimKafka } from './kafka/client.ts'
import { type KindEvents, type SimSpec, simKind } from './kind.ts'
import { type Machine, makeMachine } from './machine.ts'
import type { Network } from './network.ts'
import type { Steps } from './steps.ts'
import type { World } from './world.ts'
import { openVirtual } from './zookeeper/client.ts'
import type { Ensemble } from './zookeeper/ensemble.ts'

/** A process of the fleet, from its start to its end. */
export type Process = Suspect & {
  role: 'worker' | 'controller'
  machine: Machine
  /** SIGTERM. */
  terminate(): void
  isTerminating(): boolean
  kill(): void
  controller: Controller | null
  worker: FleetWorker | null
}

export type Fleet = {
  /** Those that live. */
  processes(role?: Process['role']): Process[]
  start(role: Process['role']): Process
  /** Opens sessions of somebody who is no process of the fleet. */
  outsider(name: string): { machine: Machine; open(): ReturnType<typeof openVirtual> }
}

export type FleetHow = {
  world: World
  network: Network
  ensemble: Ensemble
  excuses: Excuses
  steps: Steps
  invariants(): Invariants
  sessionMs: number
  /** How much faster or slower than ours a clock is at most: 0.03 is 0.97 … 1.03. */
  rateSpread: number
  flows: ReadonlyMap<string, SimSpec>
}

/** What a stop may take (DESIGN §9). */
const stopMs = 25_000
const killMs = 30_000

export function makeFleet(how: FleetHow): Fleet {
  const { world, network, ensemble, sessionMs, rateSpread } = how
  const living = new Set<Process>()
  const servers = ensemble.members.map(member => member.name)
  const rate = () => world.spanMs(1 - rateSpread, 1 + rateSpread)
  let started = 0

  function openFor(machine: Machine) {
    return () => openVirtual({ machine, network, servers, sessionMs, chance: world.chance })
  }

  function start(role: Process['role']): Process {
    const id = `${role[0]}-${++started}`
    world.note(`${id} starts`)
    const machine = makeMachine(world, id, rate())
    const stop = new AbortController()
    const abort = new AbortController()
    const process: Process = {
      ...{ id, role, machine, controller: null, worker: null },
      isAlive: machine.isAlive,
      lease: () => process.worker?.state().lease ?? 'fenced',
      isFenced: fencedOf(world, machine, () => process.lease() === 'fenced'),
      accepted: () => process.worker?.state() ?? { epoch: 0, generation: 0 },
      isTerminating: () => stop.signal.aborted,
      terminate() {
        if (stop.signal.aborted || !machine.isAlive()) return
        world.note(`${id} is told to stop`)
        machine.enter(() => stop.abort())
        world.after(stopMs, () => machine.enter(() => abort.abort()))
        world.after(killMs, process.kill)
      },
      kill() {
        if (!machine.isAlive()) return
        how.excuses.now(id)
        gone()
      },
    }
    const gone = () => {
      machine.kill()
      network.ended(id)
      living.delete(process)
      how.invariants().died(id)
    }
    living.add(process)
    machine.enter(() => {
      const done = run(process, stop.signal, abort.signal)
      done.then(
        () => {
          world.note(`${id} has ended`)
          if (!stop.signal.aborted) return fail(new Violation('I0', `${id} ended, though nobody asked it to`))
          return gone()
        },
        (error: unknown) => fail(error),
      )
      const fail = (error: unknown) => {
        world.after(0, () => {
          throw error instanceof Violation ? error : new Violation('I0', `${id} died: ${stackOf(error)}`)
        })
      }
    })
    return process
  }

  async function run(process: Process, stop: AbortSignal, abort: AbortSignal): Promise<unknown> {
    const { id, machine } = process
    const { clock, uptimeMs } = machine
    const isFenced = () => process.role === 'worker' && process.isFenced()
    const opened = new Map<string, KafkaCluster>()
    const kafka = (cluster: string) => {
      const found = opened.get(cluster)
      if (found) return found
      const made = openSimKafka({ machine, network, cluster: cluster as ClusterName, isFenced })
      opened.set(cluster, made as unknown as KafkaCluster)
      return made as unknown as KafkaCluster
    }
    const events = how.invariants().kindEvents(process)
    const performs: KindEvents['performs'] = (...which) => {
      events.performs(...which)
      how.steps.chore(process)
    }
    const kinds: Kinds = { sim: simKind({ ...events, performs }) }
    const open = () => how.steps.watched(process, openFor(machine)())
    const tell = (flow: string | null, { code, message }: FlowEvent) =>
      world.note(`${id} tells ${flow ?? ''} ${code}: ${message}`)
    const shared = {
      ...{ open, sessionMs, kinds, kafka, codec: noCodec, crc: noCrc },
      ...{ clock, uptimeMs, chance: world.chance, stop, abort, tell },
    }
    if (process.role === 'worker') {
      const revision = 'r1'
      const identity = {
        ...{ id, address: null, capacity: 1_000, revision, software: 'sim', task: id, unitsMax: 20_000 },
        tags: [`revision=${revision}`],
      }
      process.worker = startFleetWorker({ ...shared, identity })
      return await process.worker.done
    }
    const declared = new Map([...how.flows].map(([flow, spec]) => [flow, declaredOf(spec)]))
    process.controller = startController({
      ...shared,
      identity: { id, url: null, software: 'sim' },
      declared: () => declared,
      onDeclared() {},
      exports: null,
      store: null,
    })
    return await process.controller.done
  }

  return {
    processes: role => [...living].filter(one => role === undefined || one.role === role),
    start,
    outsider(name) {
      const machine = makeMachine(world, name, rate())
      return { machine, open: openFor(machine) }
    },
  }
}

/** Between turns a lease changes by time alone, and one that is over stays so. */
function fencedOf(world: World, machine: Machine, look: () => boolean): () => boolean {
  const known = { turns: -1, atMs: -1, isFenced: true }
  return () => {
    const isKnown = known.turns === machine.turns() && (known.isFenced || known.atMs === world.nowMs())
    if (!isKnown) Object.assign(known, { turns: machine.turns(), atMs: world.nowMs(), isFenced: look() })
    return known.isFenced
  }
}

function declaredOf(spec: SimSpec) {
  return { kind: 'sim', spec, overlay: { topics: new Map(), paused: new Map(), skips: new Map() } }
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** Nothing here opens a batch. */
const noCodec = {} as Codec
const noCrc = (() => 0) as unknown as Crc
