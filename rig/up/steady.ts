import type { Clock } from '../../engine/ports/clock.ts'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { prettyLine } from '../../engine/process/pretty.ts'
import { type SampleTopic, sampleBatch, send } from '../samples.ts'
import { between, seeded } from '../seeded.ts'
import { variedRecord } from '../variedRecord.ts'
import type { Clusters } from './check.ts'
import { liveScreen } from './liveScreen.ts'
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

/** The mirror, until the stop. A live table at a terminal, else its own JSON lines. */
export async function steadyMirror(
  clusters: Clusters,
  pattern: string,
  clock: Clock,
  stop: AbortSignal,
): Promise<number> {
  const args = ['mirror', '--from', clusters.from, '--to', clusters.to, '--topics', pattern]
  if (process.stderr.isTTY !== true) {
    const onLine = (line: JsonLine) => void process.stdout.write(`${JSON.stringify(line)}\n`)
    return await runMillrace(args, { onLine, onLog: null, quiet: false }, stop)
  }
  const screen = liveScreen(process.stderr, clock)
  try {
    const onLog = (line: JsonLine) => {
      if (line['msg'] === 'listening') screen.watch(String(line['url']))
      else if (line['level'] !== 'info') screen.above(prettyLine(line))
    }
    return await runMillrace(args, { onLine: () => {}, onLog, quiet: true }, stop)
  } finally {
    screen.close()
  }
}
