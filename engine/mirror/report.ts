import type { ReportNow, UnitSeen } from '../flow/contract.ts'
import { isPaused, type Overlay } from '../flow/overlay.ts'
import type { Counted, FlowReport, TopicReport } from '../flow/report.ts'
import { type PartitionState, worst } from '../flow/states.ts'
import { unitName } from '../flow/unitName.ts'
import type { PartitionPlan, TopicPlan } from './decide/planTopics.ts'
import { lagOf, lagSecondsOf } from './lag.ts'
import type { Unit } from './run.ts'
import { stateOf } from './troubles.ts'

type Now = ReportNow & { overlay: Overlay | null }
type Row = TopicReport & { states: PartitionState[] }

/**
 * What a flow shows of itself (M-96, MIRROR §3.5): what the leader plans, and of what runs or has run here how far it
 * is. `plans` null: nothing has been seen yet; `units` null: here nothing runs.
 */
export function reportOf(plans: TopicPlan[] | null, units: ReadonlyMap<string, Unit> | null, now: Now): FlowReport {
  const rows: Row[] = []
  const whole = { notRunning: 0, partitionsUnknown: 0, lagSeconds: null as number | null }
  for (const { topic, destination, partitions } of plans ?? []) {
    const row: Row = {
      ...(units ? none : unknown),
      ...{ topic, destination, partitions: 0, lagRecords: null },
      state: 'running',
      states: [],
    }
    rows.push(row)
    for (const plan of partitions) {
      const name = unitName({ topic, partition: plan.partition })
      const unit = units?.get(name) ?? null
      const seen = unit === null ? (now.seen?.(name) ?? null) : null
      const state = stateIn(plan, { topic, unit, seen }, now)
      row.partitions++
      row.states.push(state)
      if (state !== 'running') whole.notRunning++
      if (unit) addCounts(row, unit)
      const lag = unit && isTold(unit, state) ? lagOf(unit) : seen && !standing.has(state) ? seen.lagRecords : null
      if (lag === null) {
        whole.partitionsUnknown++
        continue
      }
      row.lagRecords = (row.lagRecords ?? 0) + lag
      const seconds = unit && lagSecondsOf(unit, lag, now.wallMs)
      if (seconds !== null) whole.lagSeconds = Math.max(whole.lagSeconds ?? 0, seconds)
    }
  }
  return { ...(units ? summed(rows) : { ...summed(rows), ...unknown }), ...whole }
}

const none: Counted = { records: 0, bytes: 0, gapRecords: 0, skippedRecords: 0 }
const unknown: Counted = { records: null, bytes: null, gapRecords: null, skippedRecords: null }

/** The first of M-93 that holds. */
function stateIn(
  plan: PartitionPlan,
  { topic, unit, seen }: { topic: string; unit: Unit | null; seen: UnitSeen | null },
  now: Now,
): PartitionState {
  if (now.overlay && isPaused(now.overlay, topic, plan.partition)) return 'paused'
  if (plan.is === 'refused' || plan.is === 'error') return plan.is
  if (plan.is !== 'ready') return 'waiting'
  // Ready, and not begun yet.
  return unit ? stateOf(unit, now.nowMs) : (seen?.state ?? 'waiting')
}

/** Of what nobody reads nobody knows how the source goes on; after the end of a flow the last that was seen is told. */
function isTold(unit: Unit, state: PartitionState): boolean {
  return unit.held || !standing.has(state)
}
const standing: ReadonlySet<PartitionState> = new Set(['paused', 'refused', 'error', 'waiting'])

function addCounts(row: Row, { counts }: Unit): void {
  row.records = (row.records ?? 0) + counts.records
  row.bytes = (row.bytes ?? 0) + counts.bytes
  row.gapRecords = (row.gapRecords ?? 0) + counts.gapRecords
  row.skippedRecords = (row.skippedRecords ?? 0) + counts.skippedAborted + counts.skippedOperator
}

function summed(topics: Row[]): Omit<FlowReport, 'notRunning' | 'partitionsUnknown' | 'lagSeconds'> {
  const sum = (field: 'partitions' | 'records' | 'bytes' | 'gapRecords' | 'skippedRecords') =>
    topics.reduce((all, topic) => all + (topic[field] ?? 0), 0)
  const lags = topics.map(topic => topic.lagRecords).filter(lag => lag !== null)
  return {
    topics: topics
      .sort((a, b) => (a.topic < b.topic ? -1 : 1))
      .map(({ states, ...topic }) => ({ ...topic, state: worst(states) })),
    partitions: sum('partitions'),
    lagRecords: lags.length === 0 ? null : lags.reduce((all, lag) => all + lag, 0),
    records: sum('records'),
    bytes: sum('bytes'),
    gapRecords: sum('gapRecords'),
    skippedRecords: sum('skippedRecords'),
  }
}
