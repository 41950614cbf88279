import { Buffer } from 'node:buffer'
import { type Header, nextOffset } from '../engine/batch/header.ts'
import type { KafkaCluster, Part } from '../engine/ports/kafka.ts'

export type StoredBatch = { header: Header; bytes: Buffer }

/** Every batch of a partition as the broker has it, control and aborted ones too, up to the end of now. */
export async function readLog(cluster: KafkaCluster, part: Part, signal: AbortSignal): Promise<StoredBatch[]> {
  const [end, start] = await Promise.all([offsetOf(cluster, part, 'end'), offsetOf(cluster, part, 'start')])
  const found: StoredBatch[] = []
  if (start >= end) return found
  const source = cluster.source({ isolation: 'read_uncommitted', rack: null })
  const stream = source.open({ ...part, topicId: '' }, { offset: start, epoch: -1 })
  try {
    for (let next = start; next < end; ) {
      const answer = await stream.next(signal)
      if (answer.is !== 'batches') throw new Error(`${part.topic}/${part.partition}: ${answer.is} at ${next}`)
      for (const batch of answer.batches) {
        found.push({ header: batch.header, bytes: Buffer.from(batch.bytes) })
        next = nextOffset(batch.header)
        batch.release()
      }
      if (answer.batches.length === 0) break
    }
  } finally {
    stream.close()
  }
  return found
}

export async function offsetOf(cluster: KafkaCluster, part: Part, at: 'start' | 'end' | 'stable'): Promise<bigint> {
  const [found] = await cluster.admin.offsets([part], at)
  const offset = found?.offset ?? null
  if (offset === null) throw new Error(`${part.topic}/${part.partition}: no ${at}, Kafka's error ${found?.code}`)
  return offset
}
