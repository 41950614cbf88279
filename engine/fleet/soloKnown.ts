import { type Fault, MillraceError } from '../errors.ts'
import { isPausedUnit } from '../flow/overlay.ts'
import type { Clock } from '../ports/clock.ts'
import type { HeldError } from './decide/documents/held.ts'
import type { UnitStats } from './decide/documents/stats.ts'
import type { WorkerDoc } from './decide/documents/worker.ts'
import { heldErrors } from './decide/heldErrors.ts'
import { flowOf, withinFlow } from './decide/observed.ts'
import { type FlowView, type Known, type UnitView, type WorkerView, warningsOf } from './known.ts'
import { setOffsets } from './setOffsets.ts'
import type { Solo } from './solo.ts'
import type { SoloDocuments } from './soloDocuments.ts'
import type { SoloEntry } from './soloEntry.ts'
import type { SoloFlow } from './soloFlow.ts'

/** What one process says of `/held` and `/stats`, which it does not write (C-96). */
export type SoloKnown = Known & { running(flow: string): Iterable<string>; stats(flow: string): Map<string, UnitStats> }

type How = {
  epoch: number
  /** This process, as the one worker there is. */
  record: WorkerDoc
  solo: Solo
  documents: SoloDocuments
  clock: Clock
}

/** What the one process knows of its flows, for its API: all that is wanted and may run runs here. */
export function soloKnown(how: How): SoloKnown {
  const { epoch, record, solo, documents, clock } = how
  const running = (flow: string) => solo.flow(flow)?.running() ?? new Set<string>()
  return {
    ...{ epoch, sinceMs: clock.nowMs() },
    plan() {
      const units = [...solo.flows()].reduce((sum, flow) => sum + flow.running().size, 0)
      const loads = new Map([[record.id, units]])
      return { give: [], withdraw: [], unplaced: [], why: 'few', more: false, loads, weights: new Map() }
    },
    workers: () => new Map([[record.id, workerView(how)]]),
    flows: () =>
      new Map(
        [...documents.flows()].map(([name, entry]) => [
          name,
          flowView(entry, solo.flow(name), { fault: solo.fault(name), clock }),
        ]),
      ),
    unit: name => unitsOf(how, flowOf(name)).get(withinFlow(name)) ?? null,
    units: flow => unitsOf(how, flow),
    running,
    stats: flow =>
      new Map(
        measuredOf(how, flow).map(({ unit, bytesPerSecond, lagRecords, state }) => [
          unit,
          { bytesPerSecond, lagRecords, state },
        ]),
      ),
    async setOffsets(name, request, signal) {
      const flow = solo.flow(name)
      if (flow) return await setOffsets(flow, request, signal)
      if (!documents.flows().has(name)) throw new MillraceError('not-found', `there is no flow '${name}'`)
      throw new MillraceError('conflict', `${name}: it does not run here, so nobody has looked at it`, {
        hint: solo.fault(name)?.message ?? 'bring it back into the file of flows, paused',
      })
    },
  }
}

function measuredOf({ solo, clock }: How, flow: string) {
  return [...(solo.flow(flow)?.worker.measured(clock.nowMs()) ?? [])]
}

function workerView(how: How): WorkerView {
  const { record, solo } = how
  const units = [...solo.flows()].reduce((sum, flow) => sum + flow.running().size, 0)
  return {
    ...{ doc: record, beatAgeMs: 0, wanted: null, applied: null, units, held: units, load: units, share: units },
    ...{ state: 'ready', quarantinedUntilMs: null, heldState: 'running', released: false, silent: false },
    errors: [...solo.flows()].flatMap(({ flow }) => errorsOf(how, flow)),
  }
}

function errorsOf(how: How, flow: string): HeldError[] {
  return [...heldErrors(flow, measuredOf(how, flow), how.clock.wallMs() - how.clock.nowMs())]
}

function flowView(
  entry: SoloEntry,
  flow: SoloFlow | null,
  { fault, clock }: { fault: Fault | null; clock: Clock },
): FlowView {
  const { doc, plan, missing } = entry
  const known = entry.fault ?? fault
  const { view = null, trouble = null } = flow?.state() ?? {}
  const inError = [...(flow?.worker.measured(clock.nowMs()) ?? [])].filter(({ code }) => code !== null).length
  const held = flow?.running() ?? new Set()
  const isWanted = ({ unit }: { unit: string }) => plan !== null && !plan.deleting && !isPausedUnit(plan.overlay, unit)
  const wanted = flow?.units()?.filter(isWanted).length ?? 0
  return {
    ...{ tag: entry.node.tag, kind: doc?.kind ?? '', fault: known ?? trouble?.fault ?? null },
    nextTryMs: known === null ? (trouble?.nextMs ?? null) : null,
    ...{ wanted, assigned: held.size, held: held.size, silent: 0, inError, inTransit: 0, oldestUnheldMs: null },
    // Which units it has nobody has looked for.
    unplaced: missing.length > 0 ? [{ unit: '*', why: 'no-tag' }] : [],
    ...{ aside: view?.aside ?? new Map(), view },
    warnings: flow ? warningsOf(flow.state(), clock) : [],
    report: () => flow?.report() ?? null,
  }
}

function unitsOf({ solo, documents, record }: How, name: string): Map<string, UnitView> {
  const flow = solo.flow(name)
  const plan = documents.flows().get(name)?.plan ?? null
  const running = flow?.running() ?? new Set<string>()
  const weights = new Map(flow?.units()?.map(({ unit, weight }) => [unit, weight]))
  const views = new Map<string, UnitView>()
  if (!documents.flows().has(name)) return views
  for (const unit of new Set([...weights.keys(), ...running])) {
    const why = plan?.deleting ? 'deleting' : plan && isPausedUnit(plan.overlay, unit) ? 'paused' : null
    const owner = running.has(unit) ? record.id : null
    views.set(unit, { owner, inTransit: null, intent: null, weight: weights.get(unit) ?? 1, wish: null, why })
  }
  return views
}
