import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kafkaMeasures } from '../../engine/adapters/kafka/measures.ts'
import { MemoryAccount } from '../../engine/adapters/kafka/slab.ts'
import { latency, noteLatency } from '../../engine/mirror/counts.ts'
import { mirrorMeasures } from '../../engine/mirror/measures.ts'
import { newUnit, type Unit } from '../../engine/mirror/run.ts'
import type { MirrorWorker } from '../../engine/mirror/worker.ts'
import type { Measure } from '../../engine/ports/metrics.ts'
import { manualClock } from '../fakes/clock.ts'

const part = { topic: 't', partition: 3 }

function workerOf(units: Unit[]): MirrorWorker {
  return {
    latency: latency(),
    units: new Map(units.map(unit => [`${unit.part.topic}/${unit.part.partition}`, unit])),
    run: () => assert.fail('nothing runs here'),
    left() {},
    measured: () => [],
    close: async () => true,
  }
}

/** Name, what distinguishes it, value: of all that have a value. */
function shown(measures: Measure[]): [string, string, number][] {
  return measures.flatMap(measure =>
    measure.kind === 'histogram'
      ? []
      : [...measure.read()].map(({ labels, value }): [string, string, number] => {
          const { flow: _flow, topic: _topic, partition: _partition, ...more } = labels
          return [measure.name, Object.values(more).join(' '), value]
        }),
  )
}

test('what is counted of a partition is shown under its own name, and what is not known is absent', () => {
  const unit = newUnit({
    ...{ part, topicId: '', destination: part, destinationId: '', nowMs: 0 },
    at: { offset: 40n, epoch: 0 },
  })
  unit.held = true
  const measures = mirrorMeasures(() => [{ flow: 'f', worker: workerOf([unit]) }], manualClock())
  const absent = shown(measures).map(([name]) => name)
  for (const name of ['lag_records', 'blocked_records', 'log_start_offset', 'log_end_offset'])
    assert.ok(!absent.includes(`millrace_mirror_${name}`), name)

  Object.assign(unit.counts, {
    records: 1,
    bytes: 2,
    batches: { raw: 3, recode: 4, split: 0, join: 0, compress: 0 },
    skippedAborted: 5,
  })
  const clockMs = manualClock().wallMs()
  Object.assign(unit.counts, { newestMs: clockMs - 25_000, recordAgeMs: 3_000 })
  Object.assign(unit.counts, { gapRecords: 6, replacedRecords: 7, logStart: 8n, lastStable: 49n, end: 59n })
  assert.deepEqual(
    shown(measures).filter(([name, , value]) => name !== 'millrace_mirror_state' || value > 0),
    [
      ['millrace_mirror_records_total', '', 1],
      ['millrace_mirror_bytes_total', '', 2],
      ['millrace_mirror_batches_total', 'raw', 3],
      ['millrace_mirror_batches_total', 'recode', 4],
      ['millrace_mirror_batches_total', 'split', 0],
      ['millrace_mirror_batches_total', 'join', 0],
      ['millrace_mirror_batches_total', 'compress', 0],
      ['millrace_mirror_skipped_records_total', 'aborted', 5],
      ['millrace_mirror_skipped_records_total', 'operator', 0],
      ['millrace_mirror_gap_records_total', '', 6],
      ['millrace_mirror_replaced_records_total', '', 7],
      ['millrace_mirror_lag_records', '', 9],
      ['millrace_mirror_lag_seconds', '', 25],
      ['millrace_mirror_record_age_seconds', '', 3],
      ['millrace_mirror_checkpoint_age_seconds', '', 0],
      ['millrace_mirror_blocked_records', '', 10],
      ['millrace_mirror_checkpoint', '', 40],
      ['millrace_mirror_log_start_offset', '', 8],
      ['millrace_mirror_log_end_offset', '', 59],
      ['millrace_mirror_state', 'running', 1],
    ],
  )
})

test('two flows have samples and histograms of their own, and a unit that is not held any more shows nothing', () => {
  const workers = ['f', 'g'].map(flow => {
    const of = (partition: number) => ({ topic: 't', partition })
    const units = [0, 1].map(partition =>
      newUnit({
        ...{ part: of(partition), topicId: '', destination: of(partition), destinationId: '', nowMs: 0 },
        at: { offset: 40n, epoch: 0 },
      }),
    )
    for (const unit of units) unit.held = flow === 'g' || unit.part.partition === 1
    return { flow, worker: workerOf(units) }
  })
  noteLatency((workers[1] as { worker: MirrorWorker }).worker.latency, 2_000)
  const measures = mirrorMeasures(() => workers, manualClock())
  const records = measures.find(one => one.name === 'millrace_mirror_records_total')
  assert.ok(records && records.kind !== 'histogram')
  assert.deepEqual(
    [...records.read()].map(({ labels }) => labels),
    [
      { flow: 'f', topic: 't', partition: '1' },
      { flow: 'g', topic: 't', partition: '0' },
      { flow: 'g', topic: 't', partition: '1' },
    ],
  )
  const histogram = measures.find(one => one.kind === 'histogram')
  assert.ok(histogram && histogram.kind === 'histogram')
  assert.deepEqual(
    [...histogram.read()].map(({ labels, sum, count }) => ({ labels, sum, count })),
    [
      { labels: { flow: 'f' }, sum: 0, count: 0 },
      { labels: { flow: 'g' }, sum: 2, count: 1 },
    ],
  )
})

test('the memory account, producer resets and quota waits of the clusters are shown', () => {
  const account = new MemoryAccount()
  account.count(Buffer.alloc(1_000))
  const counts = {
    ...{ metadataRequests: 0, fetchRequests: 0, produceRequests: 0, swaps: 0, commits: 0 },
    producerResets: 2,
    throttleMs: new Map([['127.0.0.1:9092', 700]]),
  }
  assert.deepEqual(shown(kafkaMeasures(account, () => [{ name: 'west', counts: () => counts }])), [
    ['millrace_kafka_held_bytes', '', 1_000],
    ['millrace_kafka_producer_resets_total', 'west', 2],
    ['millrace_kafka_throttle_ms_total', 'west 127.0.0.1:9092', 700],
  ])
})
