import { MillraceError } from '../errors.ts'
import { heldErrorsMax } from '../limits.ts'
import type { Clock } from '../ports/clock.ts'
import type { Coordinator } from '../ports/coordinator.ts'
import type { KafkaCluster } from '../ports/kafka.ts'
import type { Generation } from './decide/assignment.ts'
import type { AssignmentDoc } from './decide/documents/assignment.ts'
import type { HeldError } from './decide/documents/held.ts'
import type { UnitStats } from './decide/documents/stats.ts'
import { heldErrors } from './decide/heldErrors.ts'
import { flowSpecs } from './flowSpecs.ts'
import type { Kinds } from './kinds.ts'
import { startWorkerFlow, type WorkerFlow, type WorkerParts } from './workerFlow.ts'

/** All flows of one worker, as its newest assignment has them. */
export type WorkerFlows = {
  all(): Iterable<WorkerFlow>
  /** The newest document that was taken; kept over a lost registration (C-12). */
  accepted(): Generation | null
  apply(doc: AssignmentDoc): void
  /** Reads the flows whose documents are not those that the assignment was made from. */
  refresh(coordinator: Coordinator): void
  closing(): void
  /** Aborts what runs, and cuts what waits for an answer (C-5). */
  fence(): void
  /** Open again: at once when nothing was cut, else after the assignment was read, in `looked` (C-12). */
  open(): void
  looked(): void
  isFenced(): boolean
  /** Nothing runs that was told to stop. */
  quiet(): Promise<void>
  /** Everything that was taken is given up, in order if `fence` was not called before. */
  drop(): Promise<void>
  /** After the stop of the process: all units have ended. False: not every checkpoint is stored. */
  end(): Promise<boolean>
  held(): string[]
  errors(): HeldError[]
  stats(): ReadonlyMap<string, UnitStats>
}

type State = {
  flows: Map<string, WorkerFlow>
  wanted: ReadonlyMap<string, ReadonlySet<string>>
  tags: ReadonlyMap<string, string>
  accepted: Generation | null
  mode: 'open' | 'closing' | 'fenced'
  clusters: Set<KafkaCluster>
  /** Counts changes of mode: what waits for one that has passed does nothing. */
  turn: number
}

const none: ReadonlySet<string> = new Set()

export function startWorkerFlows(how: { kinds: Kinds; parts: WorkerParts; fatal(error: unknown): void }): WorkerFlows {
  const { clock } = how.parts
  const specs = flowSpecs(how.kinds)
  const state: State = {
    ...{ flows: new Map(), wanted: new Map(), tags: new Map(), accepted: null, mode: 'open' },
    ...{ clusters: new Set<KafkaCluster>(), turn: 0 },
  }
  const parts = watched(how.parts, state, forgetIdle)
  const all = () => [...state.flows.values()]

  function want(flow: string, isCurrent: boolean): void {
    const units = state.wanted.get(flow) ?? none
    let one = state.flows.get(flow)
    if (!one) {
      if (units.size === 0) return
      one = startWorkerFlow(flow, parts)
      if (state.mode === 'closing') one.hold()
      if (state.mode === 'fenced') one.cut()
      state.flows.set(flow, one)
    }
    one.want(units, isCurrent)
    if (units.size === 0) forgetIdle(flow, one)
  }

  /** With nothing left of it here, it begins anew when units of it are given again. */
  function forgetIdle(flow: string, one: WorkerFlow): void {
    if (state.wanted.has(flow) || one.held().size > 0 || one.running() !== null) return
    state.flows.delete(flow)
    specs.forget(flow)
  }

  const refresh = oneAtATime(async (coordinator: Coordinator) => {
    const stale = [...state.wanted.keys()].filter(flow => !specs.isCurrent(flow, state.tags.get(flow)))
    const asked = new Map(stale.map(flow => [flow, state.tags.get(flow)]))
    for (const [flow, found] of await specs.refresh(coordinator, asked)) {
      const one = state.flows.get(flow)
      // It has left meanwhile.
      if (!one) specs.forget(flow)
      else if (found) one.take(found)
      // Of a document taken meanwhile the tag may be another one: then it is asked for again.
      const isGood = found === null || !('code' in found)
      if (isGood && state.tags.get(flow) === asked.get(flow)) want(flow, true)
    }
  }, how.fatal)

  function apply(doc: AssignmentDoc): void {
    state.accepted = { epoch: doc.epoch, generation: doc.generation }
    state.wanted = new Map([...doc.units].map(([flow, of]) => [flow, namesIn(of)]))
    state.tags = doc.specs
    for (const flow of new Set([...state.flows.keys(), ...state.wanted.keys()]))
      want(flow, specs.isCurrent(flow, doc.specs.get(flow)))
    parts.changed()
  }

  return {
    all,
    accepted: () => state.accepted,
    apply,
    refresh,
    ...modesOf(state, parts, all),
    isFenced: () => state.mode === 'fenced',
    async quiet() {
      await Promise.all(all().map(one => one.quiet()))
    },
    async drop() {
      state.wanted = new Map()
      await Promise.all(all().map(one => one.end()))
      state.flows.clear()
      specs.clear()
      state.mode = 'open'
      state.turn++
    },
    async end() {
      return (await Promise.all(all().map(one => one.end()))).every(isWhole => isWhole)
    },
    held: () => all().flatMap(one => [...one.held()].map(unit => `${one.flow}/${unit}`)),
    errors: () => errorsOf(all(), clock),
    stats: () => new Map(all().flatMap(statsOf)),
  }
}

/** What the lease does to all flows (C-5, C-12). */
function modesOf(state: State, parts: WorkerParts, all: () => WorkerFlow[]) {
  function resume(): void {
    state.mode = 'open'
    const turn = ++state.turn
    for (const one of all()) {
      // What was cut has ended before anything of its flow may be written again.
      void one.quiet().then(() => {
        if (state.turn === turn) one.resume()
      }, parts.broke)
    }
    parts.changed()
  }
  return {
    closing() {
      if (state.mode !== 'open') return
      state.mode = 'closing'
      state.turn++
      for (const one of all()) one.hold()
    },
    fence() {
      state.mode = 'fenced'
      state.turn++
      for (const one of all()) one.cut()
      for (const cluster of state.clusters) cluster.cut()
      parts.changed()
    },
    open() {
      if (state.mode === 'closing') resume()
    },
    looked() {
      if (state.mode === 'fenced') resume()
    },
  }
}

/** Knows the clusters whose links are cut at the fence, and takes flows away that have nothing left. */
function watched(parts: WorkerParts, state: State, forgetIdle: (flow: string, one: WorkerFlow) => void): WorkerParts {
  return {
    ...parts,
    kafka(name) {
      const cluster = parts.kafka(name)
      state.clusters.add(cluster)
      return cluster
    },
    changed() {
      for (const [flow, one] of state.flows) forgetIdle(flow, one)
      parts.changed()
    },
  }
}

function namesIn(parts: ReadonlyMap<string, readonly number[]>): ReadonlySet<string> {
  return new Set([...parts].flatMap(([part, numbers]) => numbers.map(n => `${part}/${n}`)))
}

/** As many as a report takes. */
function errorsOf(flows: readonly WorkerFlow[], clock: Clock): HeldError[] {
  const wallAtMs = clock.wallMs() - clock.nowMs()
  const found: HeldError[] = []
  for (const one of flows) {
    for (const error of heldErrors(one.flow, one.errors(), wallAtMs)) {
      if (found.length === heldErrorsMax) return found
      found.push(error)
    }
  }
  return found
}

function statsOf(one: WorkerFlow): [string, UnitStats][] {
  return [...one.measured()].map(({ unit, bytesPerSecond, lagRecords, state }) => [
    `${one.flow}/${unit}`,
    { bytesPerSecond, lagRecords, state },
  ])
}

/** Asked for while it is under way it is done once more. What cannot be done now is asked for again by others. */
function oneAtATime<T>(work: (on: T) => Promise<void>, fatal: (error: unknown) => void): (on: T) => void {
  let next: { on: T } | null = null
  let busy = false
  return function ask(on) {
    next = { on }
    if (busy) return
    busy = true
    void (async () => {
      for (let one: { on: T } | null = next; one !== null; one = next) {
        next = null
        await work(one.on).catch(error => error instanceof MillraceError || fatal(error))
      }
      busy = false
    })()
  }
}
