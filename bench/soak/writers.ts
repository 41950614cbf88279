import { codecs } from '../../engine/batch/header.ts'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { numberedBatch } from '../../rig/audit.ts'
import { between } from '../../rig/seeded.ts'
import { type Incarnation, numberOf, type PartLedger } from './ledger.ts'

/** Writes the numbers of one partition of one incarnation, and notes what the source has taken. */
export type Writer = {
  /** Sends a batch, unless many are under way. */
  more(): void
  finish(signal: AbortSignal): Promise<void>
  /** Its topic goes: what is under way is forgotten. */
  drop(): void
}

const underWayMax = 8
const recordsMax = 60

export function openWriter(
  cluster: KafkaCluster,
  one: Incarnation,
  partition: number,
  how: { chance: () => number; failed: (error: Error) => void },
): Writer {
  const { topic, topicId } = one
  const part = one.parts[partition] as PartLedger
  let underWay = 0
  let turn = partition
  const lane = cluster.sink.open<number>(
    { topic, partition, topicId },
    () => true,
    outcome => {
      underWay--
      if (outcome.is === 'acked') part.acked = outcome.tag
      // What a topic that is being deleted says does not count.
      else if (one.deletedMs === null) how.failed(new Error(`writing to ${topic}/${partition}: ${outcome.is}`))
    },
  )
  return {
    more() {
      if (underWay >= underWayMax) return
      const count = between(how.chance, 1, recordsMax)
      const made = { codec: codecs[turn++ % codecs.length] ?? 'none', valueBytes: between(how.chance, 8, 300) } as const
      const batch = numberedBatch(numberOf(one.number, partition, part.sent), count, {
        ...made,
        timestampMs: Date.now(),
      })
      part.sent += count
      underWay++
      lane.send(batch, part.sent)
    },
    async finish(signal) {
      await lane.idle(signal)
      lane.close(false)
    },
    drop: () => lane.close(false),
  }
}
