import type { FlowReport } from '../../engine/flow/report.ts'
import { progressLine } from '../../engine/mirror/decide/progressLine.ts'
import type { Clock } from '../../engine/ports/clock.ts'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { type SampleTopic, sampleBatch, send } from '../samples.ts'
import { between, seeded } from '../seeded.ts'
import { variedRecord } from '../variedRecord.ts'
import type { Clusters } from './check.ts'
import { type JsonLine, runMillrace } from './millrace.ts'

const steadyRecordsMax = 60
const steadyEveryMs = 500

/** Small batches into every partition, about twice a second, until the stop. */
export async function steadyLoad(cluster: KafkaCluster, topics: SampleTopic[], clock: Clock, stop: AbortSignal) {
  const parts = topics.flatMap(({ topic, partitions }) =>
    Array.from({ length: partitions }, (_, partition) => ({ topic, partition })),
  )
  const one = async (part: { topic: string; partition: number }) => {
    const chance = seeded(`${part.topic}/${part.partition} ${clock.wallMs()}`)
    for (let index = 0; !stop.aborted; ) {
      const varied = { timeMs: clock.wallMs() - index, valueBytes: [100, 1_000] as [number, number] }
      const records = Array.from({ length: between(chance, 1, steadyRecordsMax) }, () =>
        variedRecord(chance, index++, varied),
      )
      await send(cluster, part, [sampleBatch(records, 'lz4')], stop)
      await passed(between(chance, steadyEveryMs / 2, steadyEveryMs * 1.5), clock, stop)
    }
  }
  await Promise.all(parts.map(one)).catch(error => {
    if (!stop.aborted) throw error
  })
}

function passed(ms: number, clock: Clock, stop: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      cancel()
      stop.removeEventListener('abort', done)
      resolve()
    }
    const cancel = clock.after(ms, done)
    stop.addEventListener('abort', done, { once: true })
  })
}

type Progress = Omit<FlowReport, 'topics'> & {
  flow: string
  topics: number
  recordsPerSecond: number
  bytesPerSecond: number
}

/** The mirror, until the stop. Its progress is one line at a terminal, else its own JSON lines. */
export function steadyMirror(clusters: Clusters, pattern: string, stop: AbortSignal): Promise<number> {
  const terminal = process.stderr.isTTY === true
  const onLine = (line: JsonLine) => {
    if (!terminal) return void process.stdout.write(`${JSON.stringify(line)}\n`)
    if (line['type'] !== 'progress') return
    const at = line as unknown as Progress
    const report = { ...at, topics: Array.from({ length: at.topics }), lagRecords: at.lagRecords ?? null }
    const text = progressLine(at.flow, { ...report, lagSeconds: at.lagSeconds ?? null } as FlowReport, at)
    process.stderr.write(`\r\u001b[K${text.slice(0, (process.stderr.columns ?? 80) - 1)}`)
  }
  const args = ['mirror', '--from', clusters.from, '--to', clusters.to, '--topics', pattern]
  return runMillrace(args, { onLine, quiet: false }, stop)
}
