import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import type { Contestant, Where } from './contestants.ts'
import type { Cell } from './load.ts'
import { kafkaClientFor } from './topics.ts'
import { type Usage, usageOf } from './usage.ts'

/**
 * One copy of a topic by one process, between two looks at the destination: the first that found records there, and
 * the first that found all. `share` = what arrived between them, of all: what came before the first look is not counted
 * on either side of the ratio.
 */
export type Run = {
  contestant: string
  topic: string
  round: number
  wallSeconds: number
  peakRssMib: number
  cpuSeconds: number
  share: number
}

const pollMs = 50
const runLimitMs = 300_000

/** Runs one contestant into an empty topic and measures it; the process is ended afterwards. */
export async function measure(
  cell: Cell,
  contestant: Contestant,
  where: Where,
  destination: KafkaCluster,
): Promise<Run> {
  await emptyTopic(cell, where, destination)
  const child = await contestant.start(cell, where)
  try {
    const { first, last } = await watch(cell, child, destination)
    return {
      contestant: contestant.name,
      topic: cell.topic,
      round: where.round,
      wallSeconds: (last.atMs - first.atMs) / 1_000,
      cpuSeconds: last.usage.cpuSeconds - first.usage.cpuSeconds,
      peakRssMib: last.usage.peakRssMib,
      share: (last.records - first.records) / cell.records,
    }
  } finally {
    await child.kill()
  }
}

type Seen = { atMs: number; usage: Usage; records: number }

async function watch(
  cell: Cell,
  child: { pid: number; tail(): string[]; exited: Promise<{ code: number | null }> },
  destination: KafkaCluster,
): Promise<{ first: Seen; last: Seen }> {
  const parts = Array.from({ length: cell.partitions }, (_, partition) => ({ topic: cell.topic, partition }))
  const startedMs = performance.now()
  let first: Seen | null = null
  for (;;) {
    const ends = await destination.admin.offsets(parts, 'end')
    const records = ends.reduce((sum, end) => sum + Number(end.offset ?? 0n), 0)
    const atMs = performance.now()
    const usage = usageOf(child.pid)
    if (!usage) throw new Error(`the process ended early:\n${child.tail().join('\n')}`)
    const seen = { atMs, usage, records }
    if (first && records >= cell.records) return { first, last: seen }
    if (records > 0) first ??= seen
    if (atMs - startedMs > runLimitMs)
      throw new Error(`only ${records} of ${cell.records} records after ${runLimitMs} ms`)
    await new Promise(resolve => setTimeout(resolve, pollMs))
  }
}

/** The same empty topic for each, and nothing of an earlier MirrorMaker on either side. */
async function emptyTopic(cell: Cell, where: Where, destination: KafkaCluster): Promise<void> {
  for (const bootstrap of [where.from, where.to]) {
    await using client = await kafkaClientFor(bootstrap)
    const names = (await client.admin.listTopics()).filter(
      t => /^mm2-|^A\.checkpoints|^heartbeats/.test(t) || (bootstrap === where.to && t === cell.topic),
    )
    if (names.length > 0) await client.admin.deleteTopics({ topics: names })
    await client.gone(names)
  }
  await destination.admin.createTopic(cell.topic, cell.partitions)
}
