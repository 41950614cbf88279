import { tableOf } from '../../cli/table.ts'
import { count, shownBytes } from '../../engine/mirror/decide/progressLine.ts'
import type { SampleTopic } from '../samples.ts'
import { type JsonLine, runMillrace } from './millrace.ts'

export type Clusters = { from: string; to: string }
export type Progress = (name: string, line: string) => void

/** Of the command's summary (MIRROR §3.5). */
export type Copied = { topic: string; records: number; bytes: number; skippedRecords: number }
/** Of one partition (MIRROR §3.6). */
export type Compared = { topic: string; equal: number; verdict: string }
export type Checked = { topics: SampleTopic[]; copied: Copied[]; compared: Compared[]; seconds: number; good: boolean }

/** Mirrors the topics until their ends and compares both sides, with the commands that users run. */
export async function check(
  clusters: Clusters,
  topics: SampleTopic[],
  pattern: string,
  progress: Progress,
  stop: AbortSignal,
): Promise<Checked> {
  const args = ['--from', clusters.from, '--to', clusters.to, '--topics', pattern]
  const began = performance.now()
  let copied: Copied[] = []
  const take = (line: JsonLine) => {
    if (line['type'] === 'progress') progress('mirror', `${count(Number(line['records']))} records`)
    if (line['type'] === 'event') progress('mirror', String(line['message'] ?? line['code']))
    if (line['type'] === 'summary') copied = line['topics'] as Copied[]
  }
  const mirrored = await runMillrace(['mirror', ...args, '--until-end'], { onLine: take, quiet: true }, stop)
  const seconds = (performance.now() - began) / 1_000
  const compared: Compared[] = []
  progress('verify', 'comparing')
  const verified = await runMillrace(
    ['mirror', 'verify', ...args, '--deep', '-o', 'json'],
    { onLine: line => void compared.push(line as Compared), quiet: true },
    stop,
  )
  stop.throwIfAborted()
  const equal = compared.length > 0 && compared.every(({ verdict }) => verdict === 'equal')
  const whole = compared.length >= topics.reduce((sum, { partitions }) => sum + partitions, 0)
  return { topics, copied, compared, seconds, good: mirrored === 0 && verified === 0 && equal && whole }
}

const titles = ['TOPIC', 'PARTITIONS', 'RECORDS', 'BYTES', 'SKIPPED', 'EQUAL', 'VERDICT']
const numbers = new Set(titles.slice(1, 6))

/** What was copied and what the comparison says, for people. */
export function checkTable({ topics, copied, compared, seconds, good }: Checked): string {
  const rows = topics.map(({ topic, partitions }) => {
    const copy = copied.find(one => one.topic === topic)
    const found = compared.filter(one => one.topic === topic)
    return [
      topic,
      `${partitions}`,
      count(copy?.records ?? 0),
      shownBytes(copy?.bytes ?? 0),
      count(copy?.skippedRecords ?? 0),
      count(found.reduce((sum, { equal }) => sum + equal, 0)),
      [...new Set(found.map(({ verdict }) => verdict))].join(', ') || 'not compared',
    ]
  })
  const sum = (field: 'records' | 'bytes') => copied.reduce((all, copy) => all + copy[field], 0)
  const mib = sum('bytes') / 2 ** 20
  const partitions = topics.reduce((all, topic) => all + topic.partitions, 0)
  const what = `${topics.length} topics, ${partitions} partitions, ${count(sum('records'))} records`
  const speed = `${mib.toFixed(1)} MiB in ${seconds.toFixed(1)} s, ${(mib / seconds).toFixed(1)} MiB/s with the start of the command`
  const verdict = good ? 'both sides are equal' : 'both sides are NOT equal'
  return `${tableOf(titles, rows, numbers)}\ncopied: ${what}, ${speed}\n${verdict}\n`
}
