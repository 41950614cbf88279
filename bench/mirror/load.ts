import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import type { Children } from '../../rig/children.ts'

export type Cell = {
  topic: string
  codec: 'none' | 'lz4' | 'zstd'
  recordBytes: number
  records: number
  partitions: number
}

const payloadLines = 20_000
const fragment = '{"event":"page","user":"u-1042","path":"/products/77","referrer":"search","ms":184},'

/** Half repeated JSON, half text that does not compress well; the same on every machine (KAFKA-CLIENT §7). */
async function payloadFile(dir: string, recordBytes: number): Promise<string> {
  const lines: string[] = []
  for (let i = 0; i < payloadLines; i++) {
    const half = Math.floor(recordBytes / 2)
    const text = fragment.repeat(Math.ceil(half / fragment.length)).slice(0, half)
    lines.push(text + noise(i, recordBytes - half))
  }
  const path = join(dir, `payload-${recordBytes}.txt`)
  await writeFile(path, lines.join('\n'))
  return path
}

function noise(seed: number, bytes: number): string {
  let out = ''
  for (let n = 0; out.length < bytes; n++)
    out += createHash('sha256').update(`${seed}/${n}`).digest('base64').slice(0, 43)
  return out.slice(0, bytes)
}

/** Fills the cell's topic on the source with Kafka's own ProducerPerformance. */
export async function load(cell: Cell, source: KafkaCluster, bootstrap: string, processes: Children): Promise<void> {
  await source.admin.createTopic(cell.topic, cell.partitions)
  const payload = await payloadFile(processes.dir, cell.recordBytes)
  const properties = `acks=all compression.type=${cell.codec} batch.size=65536 linger.ms=100 bootstrap.servers=${bootstrap}`
  const args = [
    '--topic',
    cell.topic,
    '--num-records',
    String(cell.records),
    '--throughput',
    '-1',
    '--payload-file',
    payload,
  ]
  const main = 'org.apache.kafka.tools.ProducerPerformance'
  const child = await processes.java({
    name: `load.${cell.topic}`,
    main,
    args: [...args, '--command-property', ...properties.split(' ')],
  })
  const { code } = await child.exited
  if (code !== 0) throw new Error(`ProducerPerformance ended with ${code}:\n${child.tail().join('\n')}`)
}

/** Bytes and records of a topic as its batches lie at the source: what one copy moves. */
export async function sizeOf(
  topic: string,
  source: KafkaCluster,
  signal: AbortSignal,
): Promise<{ bytes: number; records: number }> {
  const view = (await source.admin.look([topic])).topics[0]
  if (!view) throw new Error(`topic ${topic} is not there`)
  const parts = view.partitions.map(({ partition }) => ({ topic, partition }))
  const ends = await source.admin.offsets(parts, 'end')
  const reader = source.source({ isolation: 'read_committed', rack: null })
  let bytes = 0
  let records = 0
  for (const { partition, offset: end } of ends) {
    const stream = reader.open({ topic, partition, topicId: view.topicId }, { offset: 0n, epoch: -1 })
    for (let next = 0n; next < (end ?? 0n); ) {
      const answer = await stream.next(signal)
      if (answer.is !== 'batches') throw new Error(`${topic}/${partition}: ${answer.is}`)
      for (const batch of answer.batches) {
        bytes += Buffer.byteLength(batch.bytes)
        records += batch.header.recordsCount
        next = batch.header.baseOffset + BigInt(batch.header.lastOffsetDelta) + 1n
        batch.release()
      }
    }
    stream.close()
  }
  return { bytes, records }
}
