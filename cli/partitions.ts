import { MillraceError } from '../engine/errors.ts'
import { shownBytes } from '../engine/mirror/decide/progressLine.ts'
import type { Flow, OffsetRow, Partition, PartitionRow } from './answers.ts'
import { apiPath } from './apiClient.ts'
import { cell, counted, offsetCell } from './cells.ts'
import type { Given } from './noun.ts'
import { offsetRows } from './offsetRows.ts'
import { partitionPage } from './partitionPage.ts'
import { type Place, placeOf } from './place.ts'
import type { Said } from './said.ts'
import { tableOf } from './table.ts'
import { usage } from './usage.ts'

/** `millrace partitions FLOW[/TOPIC[/PARTITION]]`; with `--why` all that is known of one, on one page. */
export async function partitions({ api, args, flags }: Given): Promise<Said> {
  const place = placeOf(args[0] ?? '', { min: 1, max: 3 })
  if (place.topic !== null && place.partition !== null) {
    return await onePartition(api, { ...place, topic: place.topic, partition: place.partition }, flags.why === true)
  }
  if (flags.why) throw usage('--why: of one partition', `millrace partitions ${place.flow}/TOPIC/0 --why`)
  return await listed(api, place)
}

const titles = ['TOPIC', 'PARTITION', 'STATE', 'WORKER', 'CHECKPOINT', 'START', 'END', 'LAG', 'NOTE']
const wideTitles = [
  'TOPIC',
  'PARTITION',
  'STATE',
  'WORKER',
  'RATE',
  'CHECKPOINT',
  'START',
  'STABLE',
  'END',
  'LAG',
  'NOTE',
]
const numbers = new Set(['PARTITION', 'RATE', 'CHECKPOINT', 'START', 'STABLE', 'END', 'LAG'])

type Row = PartitionRow & Partial<OffsetRow>

/** Where each stands is the brokers' to say, what it does the fleet's: one is told without the other. */
async function listed(api: Given['api'], place: Place): Promise<Said> {
  const query = place.topic === null ? '' : `?topic=${encodeURIComponent(place.topic)}`
  const [offsets, answer] = await Promise.all([
    offsetRows(api, place).catch(unanswered),
    api.ask({ method: 'GET', path: `${apiPath('flows', place.flow, 'partitions')}${query}` }),
  ])
  const found = answer.json as { partitions: readonly PartitionRow[] }
  const rows = 'fault' in offsets ? found.partitions : joined(found.partitions, offsets.rows)
  const unknown = 'fault' in offsets ? `offsets are not known: ${offsets.fault.code}: ${offsets.fault.message}\n` : null
  return {
    json: JSON.stringify({ ...found, partitions: rows }),
    names: rows.map(({ topic, partition }) => `${place.flow}/${topic}/${partition}`),
    ...(unknown === null ? {} : { note: unknown }),
    text: wide => {
      if (rows.length === 0) return `flow ${place.flow} has no partitions yet\n`
      return tableOf(
        wide ? wideTitles : titles,
        rows.map(row => cellsOf(row, wide)),
        numbers,
      )
    },
  }
}

/** That it has no such topic is an answer; so is a refusal. */
function unanswered(error: unknown): { fault: MillraceError } {
  if (error instanceof MillraceError && error.code.startsWith('kafka-')) return { fault: error }
  throw error
}

/** One that the fleet does not know of any more still has its offsets. */
function joined(known: readonly PartitionRow[], offsets: readonly OffsetRow[]): Row[] {
  const keyOf = ({ topic, partition }: { topic: string; partition: number }) => `${topic}/${partition}`
  const byKey = new Map<string, Row>(known.map(row => [keyOf(row), row]))
  const none = { state: null, reason: null, code: null, offset: null, worker: null, bytesPerSecond: null }
  for (const row of offsets) {
    const before = byKey.get(keyOf(row)) ?? { ...row, ...none }
    // What both brokers say now is newer than what a worker has written.
    byKey.set(keyOf(row), { ...before, ...row, lagRecords: row.lagRecords ?? before.lagRecords })
  }
  return [...byKey.values()].sort((a, b) =>
    a.topic === b.topic ? a.partition - b.partition : a.topic < b.topic ? -1 : 1,
  )
}

function cellsOf(row: Row, wide: boolean): string[] {
  const { bytesPerSecond } = row
  return [
    row.topic,
    String(row.partition),
    cell(row.state),
    cell(row.worker),
    ...(wide ? [bytesPerSecond === null ? '-' : `${shownBytes(bytesPerSecond)}/s`] : []),
    offsetCell(row.checkpoint),
    offsetCell(row.logStart),
    ...(wide ? [offsetCell(row.lastStable)] : []),
    offsetCell(row.highWatermark),
    counted(row.lagRecords),
    noteOf(row),
  ]
}

/** What its state does not say already. */
function noteOf({ state, reason, code, offset }: Row): string {
  if (code !== null) return cell(`${code}${offset === null ? '' : ` at ${offset}`}`)
  return state === 'paused' ? '-' : cell(reason)
}

async function onePartition(
  api: Given['api'],
  { flow, topic, partition }: { flow: string; topic: string; partition: number },
  why: boolean,
): Promise<Said> {
  const path = `${apiPath('flows', flow, 'partitions', topic, partition)}${why ? '?why' : ''}`
  const answer = await api.ask({ method: 'GET', path })
  const found = answer.json as Partition
  // What people changed of it stands in the flow; the page joins both.
  const around = why ? ((await api.ask({ method: 'GET', path: apiPath('flows', flow) })).json as Flow) : null
  const name = `${flow}/${topic}/${partition}`
  return { json: answer.text, names: [name], text: () => partitionPage(found, around) }
}
