import type { Fault } from '../errors.ts'
import type { FlowKind, UnitPlan, View } from '../flow/contract.ts'
import type { FlowEvent } from '../flow/event.ts'
import { partOf, unitName } from '../flow/unitName.ts'
import { topicGoneLooks } from '../limits.ts'
import { notThere } from './decide/notThere.ts'
import { hasCheckpoint, partitionsOf, planTopics } from './decide/planTopics.ts'
import { previewWith } from './decide/previewOf.ts'
import { standingFaults } from './decide/standingFaults.ts'
import { type MirrorAction, steerMirror } from './decide/steerMirror.ts'
import { warningsOf } from './decide/warnings.ts'
import type { MirrorLook } from './look.ts'
import { offsetRows } from './offsetRows.ts'
import { performMirror } from './perform.ts'
import { reportOf } from './report.ts'
import { lookWithRights, type Rights } from './rights.ts'
import { setOffsets } from './setOffsets.ts'
import type { MirrorSpec } from './spec.ts'
import { type MirrorWorker, openWorker } from './worker.ts'

/** Kafka to Kafka, byte for byte (MIRROR). */
export const mirrorKind: FlowKind<MirrorSpec, MirrorLook & Rights, MirrorAction, MirrorWorker> = {
  kind: 'mirror',
  lookMs: spec => spec.topics.refreshMs,
  look: lookWithRights,
  units: unitsOf,
  steer: steerMirror,
  perform: performMirror,
  pending,
  stands,
  open: openWorker,
  report: (spec, view, worker, now) => {
    const overlay = view?.overlay ?? null
    const report = reportOf(view && planTopics(spec, view), worker?.units ?? null, { overlay, ...now })
    const warnings = warningsOf(spec)
    return warnings.length > 0 ? { ...report, warnings } : report
  },
  parts: partitionsOf,
  setOffsets,
  offsets: offsetRows,
  preview: previewWith,
  checkpoint,
  restarts: (before, after) => JSON.stringify(fixed(before)) !== JSON.stringify(fixed(after)),
  refuses,
}

/** What may not be seen is not said to be missing as well. */
function stands(spec: MirrorSpec, view: View<MirrorLook & Rights>): FlowEvent[] {
  const missing = view.topics.size === 0 && view.rightsMissing.length > 0 ? [] : notThere(spec, view)
  return [...view.rightsMissing, ...missing, ...standingFaults(planTopics(spec, view))]
}

/** A unit is one partition of the source, under its name there (M-1): those that nothing stands in the way of (M-5). */
function unitsOf(spec: MirrorSpec, view: View<MirrorLook>): UnitPlan[] {
  return planTopics(spec, view).flatMap(({ topic, partitions }) =>
    partitions
      .filter(p => p.is === 'ready')
      .map(({ partition }) => ({ unit: unitName({ topic, partition }), weight: 1 })),
  )
}

/** Of the topic that is there now: what was stored of one before it says nothing of a skip in this one. */
function checkpoint(view: View<MirrorLook>, unit: string): bigint | null {
  const { topic, partition } = partOf(unit)
  const source = view.topics.get(topic)
  if (source && !hasCheckpoint(view, source, partition)) return null
  return view.offsets.get(unit)?.offset ?? null
}

/** What is on its way to become ready; what somebody has to decide or to make is not. */
function pending(spec: MirrorSpec, view: View<MirrorLook>): number {
  return planTopics(spec, view).reduce((sum, { topic, partitions }) => {
    if ((view.absent.get(topic) ?? 0) >= topicGoneLooks) return sum
    const open = partitions.filter(p => p.is === 'start' || (p.is === 'waiting' && p.why?.hint === null))
    return sum + open.length
  }, 0)
}

/** What only the leader's side reads may change under running units. */
function fixed(spec: MirrorSpec): unknown {
  const { topics: _topics, destination: _destination, loopGuard: _guard, start: _start, ...rest } = spec
  return rest
}

/** M-20. */
function refuses(before: MirrorSpec, after: MirrorSpec): Fault | null {
  if (JSON.stringify(before.naming) === JSON.stringify(after.naming)) return null
  const message = 'naming: it cannot be changed while the flow runs (M-20)'
  return { code: 'config-invalid', message, hint: 'pause the flow (paused: true), change naming, resume it' }
}
