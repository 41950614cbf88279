import type { SteerContext } from '../flow/contract.ts'
import type { FlowEvent } from '../flow/event.ts'
import { paths } from './decide/documents/paths.ts'
import type { SeenFlow } from './decide/observed.ts'
import { flowOf, withinFlow } from './decide/observed.ts'
import type { Reconciled } from './decide/reconcile.ts'
import type { Kinds } from './kinds.ts'
import { type LeaderFlow, openLeaderFlow } from './leaderFlow.ts'
import type { Office } from './office.ts'
import type { LoopFlows } from './reconcileLoop.ts'

export type LeaderFlows = LoopFlows & {
  flows(): ReadonlyMap<string, LeaderFlow>
  /** Of each document its text and version, as read last. */
  documents(): ReadonlyMap<string, FlowNode>
  /** Chores may begin. */
  begin(): void
  /** This document was written by us: it is read again. */
  dirty(flow: string): void
}

export type FlowNode = { text: string; version: number; tag: string }

export type LeaderFlowsHow = {
  office: Office
  kinds: Kinds
  context: Omit<SteerContext, 'flow' | 'tell' | 'epoch' | 'signal' | 'mayWrite'>
  tell(flow: string, event: FlowEvent): void
  hint(): void
  fatal(error: unknown): void
}

type State = {
  how: LeaderFlowsHow
  flows: Map<string, LeaderFlow>
  nodes: Map<string, FlowNode>
  dirty: Set<string>
  /** What is watched, and what ends that. */
  watched: Map<string, AbortController>
  listed: boolean
  begun: boolean
  /** By flow the units that are not free, by their names in it. */
  owned: ReadonlyMap<string, ReadonlySet<string>>
}

/** All flows of `/flows` on the leader, each with its chores (C-90, C-91). */
export function leaderFlows(how: LeaderFlowsHow): LeaderFlows {
  const { office, hint } = how
  const state: State = {
    ...{ how, listed: false, begun: false, owned: new Map() },
    ...{ flows: new Map(), nodes: new Map(), dirty: new Set<string>(), watched: new Map() },
  }
  const relist = () => {
    state.listed = false
    hint()
  }
  office.coordinator.watch(paths.flows, 'children', relist, office.signal)
  return {
    flows: () => state.flows,
    documents: () => state.nodes,
    dirty: flow => void state.dirty.add(flow),
    read: all => read(state, all),
    seen: () => new Map<string, SeenFlow>([...state.flows].map(([name, flow]) => [name, flow.seen()])),
    decided(found) {
      state.owned = ownedOf(state, found)
    },
    ended(units) {
      for (const name of new Set(units.map(flowOf))) state.flows.get(name)?.ended()
    },
    begin() {
      state.begun = true
      for (const flow of state.flows.values()) flow.begin()
    },
  }
}

async function read(state: State, all: boolean): Promise<void> {
  const { coordinator } = state.how.office
  if (all || !state.listed) {
    state.listed = true
    const names = await coordinator.children(paths.flows).catch(error => {
      state.listed = false
      throw error
    })
    for (const name of state.nodes.keys()) if (!names.includes(name)) drop(state, name)
    for (const name of names) if (all || !state.nodes.has(name)) state.dirty.add(name)
  }
  await Promise.all([...state.dirty].map(name => readOne(state, name)))
}

async function readOne(state: State, name: string): Promise<void> {
  const { how, nodes, dirty } = state
  const { coordinator, signal } = how.office
  const path = paths.flow(name)
  if (!state.watched.has(name)) watchOne(state, name, path)
  dirty.delete(name)
  try {
    const node = await coordinator.read(path)
    if (signal.aborted) return
    if (node === null) return drop(state, name)
    nodes.set(name, { text: node.data, version: node.version, tag: node.tag })
    opened(state, name).take(node.data, node.tag)
  } catch (error) {
    dirty.add(name)
    throw error
  }
}

function watchOne(state: State, name: string, path: string): void {
  const { coordinator, signal } = state.how.office
  const hinted = () => {
    state.dirty.add(name)
    state.how.hint()
  }
  const ended = new AbortController()
  state.watched.set(name, ended)
  coordinator.watch(path, 'data', hinted, AbortSignal.any([signal, ended.signal]))
}

function opened(state: State, name: string): LeaderFlow {
  const { how, flows } = state
  const found = flows.get(name)
  if (found) return found
  const { epoch, signal, mayWrite } = how.office
  const flow = openLeaderFlow({
    flow: name,
    kinds: how.kinds,
    context: { ...how.context, epoch, signal, mayWrite },
    tell: event => how.tell(name, event),
    owned: () => state.owned.get(name) ?? new Set(),
    changed: how.hint,
    fatal: how.fatal,
  })
  flows.set(name, flow)
  if (state.begun) flow.begin()
  return flow
}

function drop(state: State, name: string): void {
  state.flows.get(name)?.end()
  state.flows.delete(name)
  state.nodes.delete(name)
  state.dirty.delete(name)
  state.watched.get(name)?.abort()
  state.watched.delete(name)
}

/** What stands in a document, will stand there, or may still run; behind a laggard, all that is known of (C-42). */
function ownedOf(state: State, found: Reconciled): Map<string, Set<string>> {
  const owned = new Map<string, Set<string>>()
  const add = (unit: string) => {
    const flow = flowOf(unit)
    let units = owned.get(flow)
    if (!units) {
      units = new Set()
      owned.set(flow, units)
    }
    units.add(withinFlow(unit))
  }
  for (const unit of found.owners.keys()) add(unit)
  for (const unit of found.waiting.keys()) add(unit)
  if (found.laggard !== null) {
    for (const flow of state.flows.values())
      for (const unit of flow.seen().units?.keys() ?? []) if (!found.memory.placed.has(unit)) add(unit)
  }
  // While a write is in doubt what it gave may yet be given.
  if (found.inDoubt) for (const [flow, units] of state.owned) for (const unit of units) add(`${flow}/${unit}`)
  return owned
}
