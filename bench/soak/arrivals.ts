import { codec } from '../../engine/adapters/kafka/native.ts'
import { nextOffset } from '../../engine/batch/header.ts'
import { records } from '../../engine/batch/records.ts'
import type { KafkaCluster, Part } from '../../engine/ports/kafka.ts'
import { offsetOf } from '../../rig/readLog.ts'
import { type Incarnation, whoseNumber } from './ledger.ts'

export type Arrivals = {
  seen(incarnation: number, partition: number): Uint8Array
  repeated: number
  /** First occurrences behind a higher number, or behind a record of a later incarnation. */
  outOfOrder: number
  /** Records that were never sent to where they are. */
  strange: number
}

/** Reads all that is at the destination of these incarnations. */
export async function arrivalsOf(
  cluster: KafkaCluster,
  incarnations: readonly Incarnation[],
  signal: AbortSignal,
): Promise<Arrivals> {
  const bits = new Map(incarnations.map(one => [one.number, one.parts.map(part => new Uint8Array(part.sent))]))
  const arrivals: Arrivals = {
    seen: (incarnation, partition) => bits.get(incarnation)?.[partition] ?? new Uint8Array(0),
    repeated: 0,
    outOfOrder: 0,
    strange: 0,
  }
  const byNumber = new Map(incarnations.map(one => [one.number, one]))
  const { topics } = await cluster.admin.look([...new Set(incarnations.map(one => one.topic))])
  for (const view of topics) {
    if (view.code !== 0) continue
    const { topic, topicId } = view
    await Promise.all(
      view.partitions.map(({ partition }) => {
        let highest = -1
        return readNumbers(cluster, { topic, partition, topicId }, signal, number => {
          const whose = whoseNumber(number)
          const seen = arrivals.seen(whose.incarnation, whose.partition)
          const isHere = byNumber.get(whose.incarnation)?.topic === topic && whose.partition === partition
          if (!isHere || whose.sequence >= seen.length) arrivals.strange++
          else if (seen[whose.sequence]) arrivals.repeated++
          else {
            seen[whose.sequence] = 1
            if (number < highest) arrivals.outOfOrder++
            highest = Math.max(highest, number)
          }
        })
      }),
    )
  }
  return arrivals
}

async function readNumbers(
  cluster: KafkaCluster,
  part: Part & { topicId: string },
  signal: AbortSignal,
  take: (number: number) => void,
): Promise<void> {
  const [start, end] = await Promise.all([offsetOf(cluster, part, 'start'), offsetOf(cluster, part, 'end')])
  if (start >= end) return
  const stream = cluster.source({ isolation: 'read_uncommitted', rack: null }).open(part, { offset: start, epoch: -1 })
  try {
    for (let next = start; next < end; ) {
      const answer = await stream.next(signal)
      if (answer.is !== 'batches') throw new Error(`${part.topic}/${part.partition}: ${answer.is} at ${next}`)
      for (const batch of answer.batches) {
        for (const record of records(batch, codec)) take(Number(record.value?.readBigInt64BE(0) ?? -1n))
        next = nextOffset(batch.header)
        batch.release()
      }
    }
  } finally {
    stream.close()
  }
}
