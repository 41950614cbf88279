import { tableOf } from '../../cli/table.ts'
import { count, shownBytes, shownSeconds } from '../../engine/mirror/decide/progressLine.ts'

/** What `/metrics` of a mirror says, as far as the table shows it. */
export type Seen = {
  atMs: number
  topics: ReadonlyMap<string, TopicSeen>
  cpuSeconds: number
  memoryBytes: number
}
type TopicSeen = { partitions: number; records: number; bytes: number; lag: number }

/** Pure: the text of `/metrics`. A sample that is not known is left out. */
export function seenIn(metrics: string, atMs: number): Seen {
  const topics = new Map<string, TopicSeen>()
  let cpuSeconds = 0
  let memoryBytes = 0
  for (const [, name = '', labels = '', text] of metrics.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)) {
    const value = Number(text)
    if (name === 'process_cpu_seconds_total') cpuSeconds = value
    else if (name === 'process_resident_memory_bytes') memoryBytes = value
    const topic = /(?:^|,)topic="([^"]*)"/.exec(labels)?.[1]
    if (topic === undefined) continue
    const of = topics.get(topic) ?? { partitions: 0, records: 0, bytes: 0, lag: 0 }
    topics.set(topic, of)
    if (name === 'millrace_mirror_checkpoint') of.partitions++
    else if (name === 'millrace_mirror_records_total') of.records += value
    else if (name === 'millrace_mirror_bytes_total') of.bytes += value
    else if (name === 'millrace_mirror_lag_records') of.lag += value
  }
  return { atMs, topics, cpuSeconds, memoryBytes }
}

const titles = ['TOPIC', 'PARTITIONS', 'RECORDS/S', 'MIB/S', 'LAG', 'RECORDS']
const numbers = new Set(titles.slice(1))
const mib = 1024 * 1024

/** The lines of the table, each cut to `columns`. `startedMs`: when the mirror began. */
export function liveTable(before: Seen, now: Seen, how: { startedMs: number; columns: number }): string[] {
  const seconds = Math.max(0.001, (now.atMs - before.atMs) / 1_000)
  const rowOf = (name: string, of: TopicSeen, old: TopicSeen | undefined) => [
    name,
    count(of.partitions),
    count(Math.round((of.records - (old?.records ?? of.records)) / seconds)),
    ((of.bytes - (old?.bytes ?? of.bytes)) / seconds / mib).toFixed(2),
    count(of.lag),
    count(of.records),
  ]
  const names = [...now.topics.keys()].sort()
  const rows = names.map(name => rowOf(name, now.topics.get(name) as TopicSeen, before.topics.get(name)))
  const all = rowOf('total', sum(now), sum(before))
  const cpu = Math.round(((now.cpuSeconds - before.cpuSeconds) / seconds) * 100)
  const up = shownSeconds((now.atMs - how.startedMs) / 1_000)
  const text = `${tableOf(titles, [...rows, all], numbers)}CPU ${cpu} %   memory ${shownBytes(now.memoryBytes)}   up ${up}   Ctrl-C ends it`
  return text.split('\n').map(line => line.slice(0, how.columns - 1))
}

function sum(seen: Seen): TopicSeen {
  const all = { partitions: 0, records: 0, bytes: 0, lag: 0 }
  for (const of of seen.topics.values()) {
    all.partitions += of.partitions
    all.records += of.records
    all.bytes += of.bytes
    all.lag += of.lag
  }
  return all
}
