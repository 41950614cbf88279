import { type Fault, faultOf, MillraceError } from '../errors.ts'
import type { FlowEvent } from '../flow/event.ts'
import { every } from '../flow/every.ts'
import { backOffMs, rereadMs, saidAgainMs, unitBackOff } from '../limits.ts'
import type { Chance, Clock } from '../ports/clock.ts'
import type { Coordinator } from '../ports/coordinator.ts'
import { type DeclaredFlow, declaredChanges } from './decide/declared.ts'
import type { FlowDoc } from './decide/documents/flow.ts'
import { paths } from './decide/documents/paths.ts'
import { flowUpkeep, type KeptFlow } from './flowUpkeep.ts'
import type { Kinds } from './kinds.ts'
import type { Solo } from './solo.ts'
import { planOf, type SoloEntry, takeNode } from './soloEntry.ts'
import type { FlowPlan } from './soloFlow.ts'

export type SoloDocumentsHow = {
  coordinator: Coordinator
  kinds: Kinds
  /** Of this process. */
  tags: readonly string[]
  solo: Solo
  clock: Clock
  chance: Chance
  stop: AbortSignal
  /** `flow` null: of no flow alone. */
  tell(flow: string | null, event: FlowEvent): void
  /** A bug of our own. */
  fatal(error: unknown): void
}

export type SoloDocuments = {
  flows(): ReadonlyMap<string, SoloEntry>
  /**
   * Takes what the file says now, as a whole (DESIGN §4), and has all that waits try at once. Gives what stands against
   * it, by flow, and then nothing has changed; `taken` is called when nothing does, before a flow begins. `written` ends
   * when it is in the documents: a store that is away is waited for.
   */
  declare(
    declared: ReadonlyMap<string, DeclaredFlow>,
    taken: () => void,
  ): Promise<{ refused: { flow: string; fault: Fault }[]; written: Promise<void> }>
  /** Something was written, or is over: look now. */
  nudge(): void
}

type State = {
  how: SoloDocumentsHow
  entries: Map<string, SoloEntry>
  declared: ReadonlyMap<string, DeclaredFlow>
  /** The file was taken once. */
  isBegun: boolean
  /** What a running flow did not take, as it was told. */
  refused: Map<string, Fault>
  /** Rounds that did not go through, in a row. */
  failed: number
  said: { message: string; againMs: number } | null
}

/**
 * What runs in one process is what the documents say, as in a fleet (C-66, C-67): they are read at each hint, and what
 * the file declares is written into them by what the leader does it with.
 */
export function startSoloDocuments(how: SoloDocumentsHow): SoloDocuments {
  const { coordinator, clock, stop } = how
  const state: State = {
    ...{ how, entries: new Map(), declared: new Map(), isBegun: false, refused: new Map(), failed: 0, said: null },
  }
  const upkeep = upkeepOf(state)
  let written = Promise.withResolvers<void>()
  let turn: Promise<unknown> = Promise.resolve()
  let asked = false
  let cancelRetry = () => {}

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = turn.then(work)
    turn = mine.catch(() => {})
    return mine
  }

  async function round(): Promise<void> {
    asked = false
    if (stop.aborted) return
    await read(state, nudge)
    cancelRetry()
    try {
      await upkeep.look()
      await read(state, nudge)
      Object.assign(state, { failed: 0, said: null })
      written.resolve()
      written = Promise.withResolvers<void>()
    } catch (error) {
      cancelRetry = clock.after(failed(state, error), nudge)
    }
    apply(state)
  }

  function nudge(): void {
    if (asked || stop.aborted) return
    asked = true
    inTurn(round).catch(how.fatal)
  }

  coordinator.watch(paths.flows, 'children', nudge, stop)
  // Skips that are passed are no hint.
  const cancel = every(clock, rereadMs, nudge)
  stop.addEventListener('abort', cancel, { once: true })
  return {
    flows: () => state.entries,
    nudge,
    declare: (declared, taken) =>
      inTurn(async () => {
        await read(state, nudge)
        const refused = [...refusedOf(state, declared), ...clashesOf(state, declared)]
        const done = written.promise
        if (refused.length > 0) return { refused, written: Promise.resolve() }
        taken()
        Object.assign(state, { declared, isBegun: true })
        // A plan that is another object is one that has changed.
        for (const entry of state.entries.values()) if (entry.plan) entry.plan = { ...entry.plan }
        await round()
        return { refused, written: done }
      }),
  }
}

/** The documents as they are now. */
async function read({ how, entries }: State, nudge: () => void): Promise<void> {
  const { coordinator, stop } = how
  const names = new Set(await coordinator.children(paths.flows))
  for (const [name, entry] of entries) {
    if (names.has(name)) continue
    entry.gone.abort()
    entries.delete(name)
  }
  for (const name of names) {
    const path = paths.flow(name)
    const node = await coordinator.read(path)
    if (node === null) continue
    let entry = entries.get(name)
    if (!entry) {
      const gone = new AbortController()
      entry = { node: { text: '', version: 0, tag: '' }, doc: null, plan: null, missing: [], fault: null, gone }
      entries.set(name, entry)
      coordinator.watch(path, 'data', nudge, AbortSignal.any([stop, gone.signal]))
    }
    takeNode(entry, name, { text: node.data, version: node.version, tag: node.tag }, how)
  }
}

/** What a running flow does not take stays as it was, and is told; the others go on. */
function apply(state: State): void {
  const { solo, tell } = state.how
  const plans = new Map<string, FlowPlan>()
  for (const [name, { plan }] of state.entries) if (plan) plans.set(name, plan)
  const refused = new Map(solo.refused(plans).map(({ flow, fault }) => [flow, fault]))
  for (const [flow, fault] of refused) {
    if (state.refused.get(flow)?.message !== fault.message) tell(flow, { ...fault, state: 'error' })
    const before = solo.plan(flow)
    if (before) plans.set(flow, before)
  }
  state.refused = refused
  solo.apply(plans)
}

function upkeepOf(state: State): { look(): Promise<void> } {
  const { coordinator, kinds, clock, stop, tell, solo } = state.how
  return flowUpkeep({
    ...{ kinds, clock, tell },
    office: { mayWrite: () => !stop.aborted, write: ops => coordinator.write(ops) },
    flows: {
      flows: () =>
        new Map([...state.entries].map(([name, entry]) => [name, { state: () => keptOf(solo, name, entry) }])),
      documents: () => new Map([...state.entries].map(([name, { node }]) => [name, node])),
      dirty() {},
    },
    refuses: (flow, doc) => refusedBy(state, flow, doc),
    declared: () => state.declared,
  })
}

function keptOf(solo: Solo, name: string, { doc, fault, plan }: SoloEntry): KeptFlow {
  const running = solo.flow(name)?.state()
  // Of what could not begin nothing is to be put in order.
  const over = running?.over ?? solo.fault(name) !== null
  return {
    ...{ doc, fault, kind: plan?.kind ?? null, spec: plan?.spec ?? null },
    ...{ view: running?.view ?? null, over },
  }
}

function refusedBy({ how }: State, flow: string, doc: FlowDoc): Fault | null {
  const { plan } = planOf(flow, doc, how)
  return (plan && how.solo.refused(new Map([[flow, plan]]))[0]?.fault) ?? null
}

/** All that stands against what the file says, before any of it is written. */
function refusedOf(state: State, declared: ReadonlyMap<string, DeclaredFlow>): { flow: string; fault: Fault }[] {
  const docs = new Map([...state.entries].map(([name, { doc, fault }]) => [name, fault === null ? doc : null]))
  const { changes } = declaredChanges(declared, docs, state.how.clock.wallMs())
  return [...changes].flatMap(([flow, doc]) => {
    const fault = refusedBy(state, flow, doc)
    return fault ? [{ flow, fault }] : []
  })
}

/**
 * Flows that people made and that the file's may not run beside. At the start both were taken before, so there nobody is
 * kept from running: that is told.
 */
function clashesOf(
  { how, entries, isBegun }: State,
  declared: ReadonlyMap<string, DeclaredFlow>,
): { flow: string; fault: Fault }[] {
  const found = Object.values(how.kinds).flatMap(({ kind, readSpec, clashes }) => {
    const others = [...entries].filter(([name, { plan }]) => plan?.kind === kind && !declared.has(name))
    const ours = [...declared].filter(([, one]) => one.kind === kind.kind)
    const specs = new Map<string, unknown>(others.map(([name, { plan }]) => [name, plan?.spec]))
    for (const [name, { spec }] of ours) specs.set(name, readSpec(spec))
    return clashes?.(specs).filter(({ flow, other }) => declared.has(flow) && !declared.has(other)) ?? []
  })
  const faults = found.map(({ flow, other, topic }) => {
    const message = `topics: ${topic} is written to the same place by flow ${other}, which is not of the file`
    return { flow, fault: { code: 'config-invalid' as const, message, hint: `delete ${other}, or leave ${topic} out` } }
  })
  if (isBegun) return faults
  for (const { flow, fault } of faults) how.tell(flow, fault)
  return []
}

/** Told once, and each minute; gives when to try again. */
function failed(state: State, error: unknown): number {
  if (!(error instanceof MillraceError)) throw error
  const { clock, chance, tell } = state.how
  const { said } = state
  if (said?.message !== error.message || said.againMs <= clock.nowMs()) {
    state.said = { message: error.message, againMs: clock.nowMs() + saidAgainMs }
    const fault = faultOf(error, error.code)
    tell(null, { ...fault, message: `${paths.flows} cannot be brought up to date yet: ${fault.message}` })
  }
  state.failed++
  return backOffMs(unitBackOff, state.failed, chance)
}
