import { codec } from '../../../engine/adapters/kafka/native.ts'
import { dropAborted } from '../../../engine/batch/aborted.ts'
import { records } from '../../../engine/batch/records.ts'
import type { KafkaCluster } from '../../../engine/ports/kafka.ts'

/** What has arrived in one partition of the destination, and when; times are `performance.now()`. */
export type Arrived = {
  partition: number
  records: number
  repeated: number
  /** First occurrences after a higher number. */
  outOfOrder: number
  /** 1 = arrived, by number. */
  seen: Uint8Array
  /** When each answer with something new came. */
  atMs: number[]
}

export type Arrivals = {
  parts: readonly Arrived[]
  /** Until each partition has at least so many different numbers. */
  reached(counts: readonly number[]): Promise<void>
  stop(): Promise<void>
}

/** Reads the topic of the destination as it grows, each partition by a stream of its own. */
export async function watchArrivals(
  cluster: KafkaCluster,
  topic: string,
  how: { partitions: number; numbersMax: number },
  signal: AbortSignal,
): Promise<Arrivals> {
  const view = (await cluster.admin.look([topic])).topics[0]
  if (view?.code !== 0) throw new Error(`topic ${topic} is not there`)
  const ended = new AbortController()
  const until = AbortSignal.any([signal, ended.signal])
  const source = cluster.source({ isolation: 'read_committed', rack: null })
  const waiting = new Set<() => void>()
  const parts = Array.from({ length: how.partitions }, (_, partition): Arrived => {
    const seen = new Uint8Array(how.numbersMax)
    return { partition, records: 0, repeated: 0, outOfOrder: 0, seen, atMs: [] }
  })
  const different = parts.map(() => 0)
  const reading = parts.map(async part => {
    const stream = source.open({ topic, partition: part.partition, topicId: view.topicId }, { offset: 0n, epoch: -1 })
    let highest = -1
    try {
      for (;;) {
        const answer = await stream.next(until)
        if (answer.is !== 'batches') throw new Error(`${topic}/${part.partition}: ${answer.is} at the destination`)
        const verdicts = dropAborted(answer.batches, answer.aborted)
        let isNew = false
        for (const [i, batch] of answer.batches.entries()) {
          for (const record of verdicts[i] === 'keep' ? records(batch, codec) : []) {
            const number = Number(record.value?.readBigInt64BE(0) ?? -1n)
            part.records++
            if (number >= part.seen.length) part.seen = grown(part.seen, number)
            if (part.seen[number]) {
              part.repeated++
              continue
            }
            isNew = true
            part.seen[number] = 1
            different[part.partition] = (different[part.partition] ?? 0) + 1
            if (number < highest) part.outOfOrder++
            highest = Math.max(highest, number)
          }
          batch.release()
        }
        if (isNew) part.atMs.push(performance.now())
        for (const look of waiting) look()
      }
    } catch (error) {
      if (!until.aborted) throw error
    } finally {
      stream.close()
    }
  })
  const broken = Promise.all(reading).then(() => {
    throw new Error('the destination is not read any more')
  })
  broken.catch(() => {})
  return {
    parts,
    reached(counts) {
      const all = new Promise<void>(resolve => {
        const look = () => {
          if (!counts.every((count, partition) => (different[partition] ?? 0) >= count)) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      })
      return Promise.race([all, broken])
    },
    async stop() {
      ended.abort()
      await Promise.allSettled(reading)
    },
  }
}

/** A run by hand is as long as it likes. */
function grown(seen: Uint8Array, number: number): Uint8Array {
  const larger = new Uint8Array(2 * (number + 1))
  larger.set(seen)
  return larger
}

/** Sums over partitions against what was written; `longestGapMs` is the longest time without an arrival in one. */
export function auditOf(
  parts: readonly Arrived[],
  written: readonly number[],
  within: { fromMs: number; toMs: number },
): { records: number; lost: number; repeated: number; outOfOrder: number; longestGapMs: number } {
  const sum = { records: 0, lost: 0, repeated: 0, outOfOrder: 0, longestGapMs: 0 }
  for (const part of parts) {
    sum.records += part.records
    sum.repeated += part.repeated
    sum.outOfOrder += part.outOfOrder
    for (let n = 0; n < (written[part.partition] ?? 0); n++) if (!part.seen[n]) sum.lost++
    sum.longestGapMs = Math.max(sum.longestGapMs, longestGap(part.atMs, within))
  }
  return sum
}

/** Of the times between arrivals, as far as they lie in the span. */
export function longestGap(atMs: readonly number[], { fromMs, toMs }: { fromMs: number; toMs: number }): number {
  const inside = atMs.filter(at => at >= fromMs && at <= toMs)
  const edges = [fromMs, ...inside, toMs]
  return Math.max(...edges.slice(1).map((at, i) => at - (edges[i] ?? at)))
}
