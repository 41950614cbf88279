import { type Fault, MillraceError } from '../errors.ts'
import type { AnyKind, OffsetChange } from '../flow/contract.ts'
import type { FlowReport, Warning } from '../flow/report.ts'
import type { Clock } from '../ports/clock.ts'
import type { Generation } from './decide/assignment.ts'
import type { HeldDoc, HeldError } from './decide/documents/held.ts'
import type { WorkerDoc } from './decide/documents/worker.ts'
import { isSilent, silentSince } from './decide/lease.ts'
import type { KnownWorker, Memory } from './decide/memory.ts'
import { flowOf, withinFlow } from './decide/observed.ts'
import type { Plan, WorkerState } from './decide/plan.ts'
import type { Reconciled } from './decide/reconcile.ts'
import { isPausedIn } from './decide/wantedUnits.ts'
import type { Standing } from './decide/workerStates.ts'
import type { LeaderFlow } from './leaderFlow.ts'
import type { LeaderFlows } from './leaderFlows.ts'
import type { Office } from './office.ts'
import type { ReconcileLoop } from './reconcileLoop.ts'
import { type OffsetsRequest, setOffsets } from './setOffsets.ts'

/** What the leader knows beyond the documents, for the API; times on its monotonic clock. */
export type Known = {
  epoch: number
  sinceMs: number
  /** What the next round would do now, with reasons; it changes nothing. */
  plan(): Plan & { weights: ReadonlyMap<string, number> }
  workers(): ReadonlyMap<string, WorkerView>
  flows(): ReadonlyMap<string, FlowView>
  unit(name: string): UnitView | null
  /** All of a flow that it yields or that somebody has, by their names in it. */
  units(flow: string): ReadonlyMap<string, UnitView>
  setOffsets(flow: string, request: OffsetsRequest, signal: AbortSignal): Promise<readonly OffsetChange[]>
}

export type WorkerView = {
  doc: WorkerDoc
  beatAgeMs: number
  wanted: Generation | null
  applied: Generation | null
  units: number
  held: number
  load: number
  share: number
  state: WorkerState
  quarantinedUntilMs: number | null
  heldState: HeldDoc['state'] | null
  errors: readonly HeldError[]
  /** Drained, and nothing is left on it (C-61). */
  released: boolean
  /** Its beats are missing: what it holds may not run (C-102). */
  silent: boolean
}

export type FlowView = {
  tag: string
  kind: string
  fault: Fault | null
  nextTryMs: number | null
  wanted: number
  assigned: number
  /** By workers that beat. */
  held: number
  /** By workers that are silent. */
  silent: number
  /** Units whose workers report an error; of each worker the first 50 are told. */
  inError: number
  inTransit: number
  unplaced: readonly { unit: string; why: string }[]
  oldestUnheldMs: number | null
  aside: ReadonlyMap<string, Fault>
  /** Of its spec alone. */
  warnings: readonly Warning[]
  view: unknown
  report(): FlowReport | null
}

export type UnitView = {
  owner: string | null
  inTransit: { from: string; sinceMs: number } | null
  intent: string | null
  weight: number
  wish: string | null
  why: string | null
}

export type KnownHow = { office: Office; clock: Clock; flows: LeaderFlows; loop: ReconcileLoop }

export function knownOf(how: KnownHow): Known {
  const { office, loop, flows, clock } = how
  const sinceMs = clock.nowMs()
  return {
    epoch: office.epoch,
    sinceMs,
    plan() {
      const { plan, owners } = loop.preview()
      return { ...plan, weights: new Map([...owners.keys()].map(unit => [unit, loop.weights.weightOf(unit)])) }
    },
    workers: () => workersOf(how),
    flows: () => flowViews(how),
    unit: name => unitOf(how, name, whyUnplaced(how)),
    units: flow => unitsOfFlow(how, flow),
    setOffsets(flow, request, signal) {
      const found = flows.flows().get(flow)
      if (!found) throw new MillraceError('not-found', `there is no flow '${flow}'`)
      return setOffsets(found, request, signal)
    },
  }
}

function workersOf(how: KnownHow): Map<string, WorkerView> {
  const { loop, clock } = how
  const found = loop.last()
  const memory = loop.memory()
  const views = new Map<string, WorkerView>()
  const loads = found?.plan.loads ?? new Map<string, number>()
  const ready = [...memory.workers].filter(([id]) => found?.standings.get(id) === 'ready')
  const capacity = ready.reduce((sum, [, { record }]) => sum + (record?.capacity ?? 0), 0)
  const load = ready.reduce((sum, [id]) => sum + (loads.get(id) ?? 0), 0)
  const drains = loop.observation.wishes().doc.drains
  for (const [id, worker] of memory.workers) {
    const { record, assigned, held, node } = worker
    if (record === null || (node === null && (assigned?.units.size ?? 0) === 0)) continue
    const units = assigned?.units.size ?? 0
    views.set(id, {
      doc: record,
      beatAgeMs: clock.nowMs() - (loop.observation.workers.get(id)?.atMs ?? worker.seenMs),
      wanted: generationOf(assigned),
      applied: generationOf(held),
      ...{ units, held: held?.units.size ?? 0, load: loads.get(id) ?? 0 },
      share: capacity === 0 ? 0 : Math.round((load / capacity) * record.capacity),
      state: stateOf(found?.standings.get(id) ?? 'fresh', worker),
      quarantinedUntilMs: worker.strikes.untilMs,
      heldState: held?.state ?? null,
      errors: held?.errors ?? [],
      silent: isSilentNow(how, id),
      released: drains.has(id) && isReleased(id, worker, memory),
    })
  }
  return views
}

/** Only while the leader itself is answered: else it hears nobody (C-9). */
function isSilentNow({ loop, office, clock }: KnownHow, id: string): boolean {
  const worker = loop.memory().workers.get(id)
  if (!worker?.record) return false
  const atMs = loop.observation.workers.get(id)?.atMs ?? worker.seenMs
  return isSilent(clock.nowMs() - silentSince({ version: 0, atMs }, office.answeredSinceMs()), worker.record.leaseMs)
}

/** Its document is empty, and so is the report that has reached it (C-61). */
function isReleased(id: string, { assigned, held }: KnownWorker, { transit }: Memory): boolean {
  if (assigned === null || assigned.units.size > 0 || held === null || held.units.size > 0) return false
  return [...transit.values()].every(one => one.from !== id)
}

function generationOf(of: Generation | null): Generation | null {
  return of && { epoch: of.epoch, generation: of.generation }
}

/** A keeper stops, or cannot be seen or read: it takes nothing. */
function stateOf(standing: Standing, { stoppingMs }: KnownWorker): WorkerState {
  if (standing === 'keeper' || standing === 'gone') return stoppingMs === null ? 'retiring' : 'draining'
  return standing === 'fresh' ? 'ready' : standing
}

function flowViews(how: KnownHow): Map<string, FlowView> {
  const { loop, flows } = how
  const found = loop.last()
  const views = new Map<string, FlowView>()
  for (const [name, flow] of flows.flows()) {
    const { doc, fault, trouble, tag, view } = flow.state()
    const counts = { wanted: 0, assigned: 0, held: 0, silent: 0, inError: 0, inTransit: 0 }
    views.set(name, {
      ...{ tag, kind: doc?.kind ?? '', ...counts },
      ...{ fault: fault ?? trouble?.fault ?? null, nextTryMs: fault === null ? (trouble?.nextMs ?? null) : null },
      unplaced: [],
      oldestUnheldMs: null,
      ...{ aside: view?.aside ?? new Map(), view },
      warnings: warningsOf(flow.state(), how.clock),
      report: () => reportOf(flow, how),
    })
    const seen = flow.seen()
    const isWanted = (unit: string) => !seen.deleting && !isPausedIn(seen, unit)
    const one = views.get(name)
    if (one) one.wanted = [...(seen.units?.keys() ?? [])].filter(isWanted).length
  }
  if (found) countUnits(views, how, found)
  return views
}

/** A report of nothing that was seen has just them, and costs nothing. */
export function warningsOf(
  { kind, spec }: { kind: AnyKind | null; spec: unknown },
  clock: Pick<Clock, 'nowMs' | 'wallMs'>,
): readonly Warning[] {
  if (kind === null) return []
  return kind.report(spec, null, null, { nowMs: clock.nowMs(), wallMs: clock.wallMs() }).warnings ?? []
}

function countUnits(views: Map<string, FlowView>, how: KnownHow, found: Reconciled): void {
  const memory = how.loop.memory()
  for (const unit of found.owners.keys()) {
    const view = views.get(flowOf(unit))
    if (view) view.assigned++
  }
  for (const [id, { held }] of memory.workers) {
    if (held?.state === 'left') continue
    const where = isSilentNow(how, id) ? 'silent' : 'held'
    for (const unit of held?.units ?? []) {
      const view = views.get(flowOf(unit))
      if (view) view[where]++
    }
    for (const { unit } of held?.errors ?? []) {
      const view = views.get(flowOf(unit))
      if (view) view.inError++
    }
  }
  for (const unit of found.waiting.keys()) {
    const view = views.get(flowOf(unit))
    if (view) view.inTransit++
  }
  for (const [flow, unplaced] of Map.groupBy(found.plan.unplaced, ({ id }) => flowOf(id))) {
    const view = views.get(flow)
    if (view) view.unplaced = unplaced.map(({ id, why }) => ({ unit: withinFlow(id), why }))
  }
  for (const [unit, sinceMs] of memory.unheld) {
    const view = views.get(flowOf(unit))
    if (view) view.oldestUnheldMs = Math.min(view.oldestUnheldMs ?? sinceMs, sinceMs)
  }
}

function reportOf(flow: LeaderFlow, { clock, loop }: KnownHow): FlowReport | null {
  const { kind, spec, view } = flow.state()
  if (kind === null || view === null) return null
  const seen = (unit: string) => loop.measured(`${flow.flow}/${unit}`)
  return kind.report(spec, view, null, { nowMs: clock.nowMs(), wallMs: clock.wallMs(), seen })
}

function unitsOfFlow(how: KnownHow, flow: string): Map<string, UnitView> {
  const { loop, flows } = how
  const own = [...(loop.last()?.owners.keys() ?? [])].filter(name => flowOf(name) === flow)
  const names = new Set([...(flows.flows().get(flow)?.seen().units?.keys() ?? []), ...own])
  const unplaced = whyUnplaced(how)
  const views = new Map<string, UnitView>()
  for (const name of names) {
    const view = unitOf(how, name, unplaced)
    if (view) views.set(withinFlow(name), view)
  }
  return views
}

function whyUnplaced({ loop }: KnownHow): ReadonlyMap<string, string> {
  return new Map(loop.last()?.plan.unplaced.map(({ id, why }) => [id, why]))
}

function unitOf({ loop, flows }: KnownHow, name: string, unplaced: ReadonlyMap<string, string>): UnitView | null {
  const found = loop.last()
  const memory = loop.memory()
  const flow = flows.flows().get(flowOf(name))?.seen()
  const owner = found?.owners.get(name) ?? null
  if (!flow || (owner === null && !flow.units?.has(name))) return null
  const from = found?.waiting.get(name)
  const sinceMs = memory.transit.get(name)?.sinceMs ?? memory.unheld.get(name) ?? memory.sinceMs
  return {
    owner,
    inTransit: from === undefined ? null : { from, sinceMs },
    intent: memory.intents.get(name) ?? null,
    weight: loop.weights.weightOf(name),
    wish: loop.observation.wishes().doc.moves.get(name) ?? null,
    why: unplaced.get(name) ?? whyNot(flow, name, from),
  }
}

/** Why nobody has it, where that is no matter of the plan. */
function whyNot(flow: ReturnType<LeaderFlow['seen']>, name: string, from: string | undefined): string | null {
  if (flow.deleting) return 'deleting'
  if (isPausedIn(flow, name)) return 'paused'
  if (flow.reserved.has(name)) return 'reserved'
  return from === undefined ? null : 'in-transit'
}
