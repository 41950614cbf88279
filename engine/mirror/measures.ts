import { partitionStates } from '../flow/states.ts'
import { checkpointOf } from '../flow/window.ts'
import { latencyBoundsMs } from '../limits.ts'
import type { Clock } from '../ports/clock.ts'
import type { Measure, Sample } from '../ports/metrics.ts'
import { batchPaths } from './counts.ts'
import { lagOf, lagSecondsOf } from './lag.ts'
import type { Unit } from './run.ts'
import { stateOf } from './troubles.ts'
import type { MirrorWorker } from './worker.ts'

type Labels = Record<string, string>

/** Metrics of the mirrors of a process (M-96). Lag = LSO − checkpoint; what is not known is absent, never 0, never negative. */
export function mirrorMeasures(flows: () => Iterable<{ flow: string; worker: MirrorWorker }>, clock: Clock): Measure[] {
  const each = function* (value: (unit: Unit) => number | bigint | null, more: Labels = {}): Iterable<Sample> {
    for (const { flow, worker } of flows()) {
      for (const unit of worker.units.values()) {
        const found = unit.held ? value(unit) : null
        if (found === null) continue
        const { topic, partition } = unit.part
        yield { labels: { flow, topic, partition: String(partition), ...more }, value: Number(found) }
      }
    }
  }
  const counter = (what: string, help: string, value: (unit: Unit) => number): Measure => ({
    kind: 'counter',
    name: `millrace_mirror_${what}`,
    help,
    read: () => each(value),
  })
  const gauge = (what: string, help: string, value: (unit: Unit) => number | bigint | null): Measure => ({
    kind: 'gauge',
    name: `millrace_mirror_${what}`,
    help,
    read: () => each(value),
  })
  return [
    counter('records_total', 'Records that the destination has acknowledged.', u => u.counts.records),
    counter('bytes_total', 'Batch bytes that the destination has acknowledged.', u => u.counts.bytes),
    {
      kind: 'counter',
      name: 'millrace_mirror_batches_total',
      help: 'Batches acknowledged, by how they were passed on.',
      *read() {
        for (const path of batchPaths) yield* each(u => u.counts.batches[path], { path })
      },
    },
    {
      kind: 'counter',
      name: 'millrace_mirror_skipped_records_total',
      help: 'Records left out, by reason.',
      *read() {
        yield* each(u => u.counts.skippedAborted, { reason: 'aborted' })
        yield* each(u => u.counts.skippedOperator, { reason: 'operator' })
      },
    },
    counter('gap_records_total', 'Offsets that were gone before they were read.', u => u.counts.gapRecords),
    counter(
      'replaced_records_total',
      'Records copied that the source has replaced since.',
      u => u.counts.replacedRecords,
    ),
    gauge('lag_records', 'Last stable offset less checkpoint.', lagOf),
    gauge('lag_seconds', 'Age of the newest copied record while there is more to copy.', u => {
      const lag = lagOf(u)
      return lag === null ? null : lagSecondsOf(u, lag, clock.wallMs())
    }),
    gauge('record_age_seconds', 'Age of the newest record of the last batch when it was acknowledged.', u =>
      u.counts.recordAgeMs === null ? null : u.counts.recordAgeMs / 1_000,
    ),
    gauge('checkpoint_age_seconds', 'For how long the checkpoint could not be stored; 0 when it is.', u =>
      u.commitSinceMs === null ? 0 : (clock.nowMs() - u.commitSinceMs) / 1_000,
    ),
    gauge('blocked_records', 'High watermark less last stable offset.', u => behind(u.counts.end, u.counts.lastStable)),
    gauge('checkpoint', 'Next source offset to acknowledge.', u => checkpointOf(u.window)),
    gauge('log_start_offset', 'Log start of the source.', u => u.counts.logStart),
    gauge('log_end_offset', 'High watermark of the source.', u => u.counts.end),
    {
      kind: 'gauge',
      name: 'millrace_mirror_state',
      help: 'One for the state that the partition is in.',
      *read() {
        const nowMs = clock.nowMs()
        for (const state of partitionStates) yield* each(u => (stateOf(u, nowMs) === state ? 1 : 0), { state })
      },
    },
    {
      kind: 'histogram',
      name: 'millrace_mirror_added_latency_seconds',
      help: 'From the answer of the source to the acknowledgement of the destination.',
      *read() {
        const bounds = latencyBoundsMs.map(ms => ms / 1_000)
        for (const { flow, worker } of flows()) {
          const { counts, sumMs, count } = worker.latency
          yield { labels: { flow }, bounds, counts, sum: sumMs / 1_000, count }
        }
      },
    },
  ]
}

function behind(ahead: bigint | null, at: bigint | null): bigint | null {
  if (ahead === null || at === null) return null
  return ahead > at ? ahead - at : 0n
}
