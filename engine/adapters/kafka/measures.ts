import type { Measure } from '../../ports/metrics.ts'
import type { KafkaCounts } from './openKafka.ts'
import type { MemoryAccount } from './slab.ts'

/** What a process shows of its clusters: the memory account they share (W-31), and faults and waits of each. */
export function kafkaMeasures(
  account: MemoryAccount,
  clusters: () => readonly { name: string; counts(): KafkaCounts }[],
): Measure[] {
  return [
    {
      kind: 'gauge',
      name: 'millrace_kafka_held_bytes',
      help: 'Memory of fetched and made batches that is not released yet.',
      read: () => [{ labels: {}, value: account.heldBytes }],
    },
    {
      kind: 'counter',
      name: 'millrace_kafka_producer_resets_total',
      help: 'New producer ids after a fault; what was in doubt then may be doubled.',
      read: () => clusters().map(({ name, counts }) => ({ labels: { cluster: name }, value: counts().producerResets })),
    },
    {
      kind: 'counter',
      name: 'millrace_kafka_throttle_ms_total',
      help: 'Time that brokers have told us to wait for quotas.',
      *read() {
        for (const { name, counts } of clusters()) {
          for (const [broker, ms] of counts().throttleMs) yield { labels: { cluster: name, broker }, value: ms }
        }
      },
    },
  ]
}
