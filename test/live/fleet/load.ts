import { setTimeout as delay } from 'node:timers/promises'
import type { KafkaCluster } from '../../../engine/ports/kafka.ts'
import { numberedBatch } from '../../../rig/audit.ts'

/** Dense numbers from 0 in each partition, at an even rate (R-load of COORDINATION §13). */
export type Load = {
  /** How many each partition has been given and has acknowledged. */
  readonly acked: readonly number[]
  /** Ends it, when everything that was sent is acknowledged; gives the numbers written by partition. */
  stop(): Promise<number[]>
}

const tickMs = 50
const batchRecordsMax = 50

/** `perSecond` over all partitions. Each tick writes what is due, one small batch a partition in turn. */
export function startLoad(
  cluster: KafkaCluster,
  of: { topic: string; partitions: number; perSecond: number; valueBytes?: number },
  signal: AbortSignal,
): Load {
  const { topic, partitions, perSecond } = of
  const sent = Array.from({ length: partitions }, () => 0)
  const acked = Array.from({ length: partitions }, () => 0)
  const failed = Promise.withResolvers<never>()
  failed.promise.catch(() => {})
  const lanes = sent.map((_, partition) =>
    cluster.sink.open<number>(
      { topic, partition, topicId: '' },
      () => true,
      outcome => {
        if (outcome.is === 'acked') acked[partition] = outcome.tag
        else failed.reject(new Error(`writing to ${topic}/${partition}: ${JSON.stringify(outcome)}`))
      },
    ),
  )
  const ended = new AbortController()
  const until = AbortSignal.any([signal, ended.signal])
  const write = (partition: number, count: number) => {
    const how = { codec: 'none', valueBytes: of.valueBytes ?? 100, timestampMs: Date.now() } as const
    const batch = numberedBatch(sent[partition] ?? 0, count, how)
    sent[partition] = (sent[partition] ?? 0) + count
    lanes[partition]?.send(batch, sent[partition])
    batch.release()
  }
  const pace = async () => {
    const startedMs = performance.now()
    for (let total = 0, turn = 0; !until.aborted; ) {
      let due = Math.floor(((performance.now() - startedMs) / 1_000) * perSecond) - total
      const each = Math.max(1, Math.min(batchRecordsMax, Math.ceil(due / partitions)))
      for (let n = 0; n < partitions && due > 0; n++) {
        const count = Math.min(each, due)
        write(turn++ % partitions, count)
        due -= count
        total += count
      }
      await delay(tickMs, undefined, { signal: until }).catch(() => {})
    }
  }
  const pacing = pace()
  return {
    acked,
    async stop() {
      ended.abort()
      await pacing
      await Promise.race([Promise.all(lanes.map(lane => lane.idle(signal))), failed.promise])
      for (const lane of lanes) lane.close(false)
      return [...acked]
    },
  }
}
