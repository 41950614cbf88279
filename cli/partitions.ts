import type { Flow, OffsetRow, Overlay, Partition, Worker } from './answers.ts'
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

const titles = ['TOPIC', 'PARTITION', 'CHECKPOINT', 'START', 'END', 'LAG', 'NOTE']
const wideTitles = ['TOPIC', 'PARTITION', 'CHECKPOINT', 'START', 'STABLE', 'END', 'LAG', 'NOTE']
const numbers = new Set(wideTitles.slice(1, -1))

async function listed(api: Given['api'], place: Place): Promise<Said> {
  const [{ json, rows }, flow, workers] = await Promise.all([
    offsetRows(api, place),
    api.ask({ method: 'GET', path: apiPath('flows', place.flow) }),
    api.ask({ method: 'GET', path: apiPath('workers') }),
  ])
  const { paused } = (flow.json as Flow).overlay
  const errors = new Map(
    (workers.json as { workers: readonly Worker[] }).workers.flatMap(one =>
      one.errors.map(error => [error.unit, error]),
    ),
  )
  const noteOf = (row: OffsetRow) => {
    const error = errors.get(`${place.flow}/${row.topic}/${row.partition}`)
    if (isPaused(paused, row)) return 'paused'
    return error ? cell(`${error.code}${error.offset === null ? '' : ` at ${error.offset}`}`) : '-'
  }
  return {
    json,
    names: rows.map(({ topic, partition }) => `${place.flow}/${topic}/${partition}`),
    text: wide => {
      if (rows.length === 0) return `flow ${place.flow} has no partitions yet\n`
      return tableOf(
        wide ? wideTitles : titles,
        rows.map(row => cellsOf(row, noteOf(row), wide)),
        numbers,
      )
    },
  }
}

function cellsOf(row: OffsetRow, note: string, wide: boolean): string[] {
  return [
    row.topic,
    String(row.partition),
    offsetCell(row.checkpoint),
    offsetCell(row.logStart),
    ...(wide ? [offsetCell(row.lastStable)] : []),
    offsetCell(row.highWatermark),
    counted(row.lagRecords),
    note,
  ]
}

function isPaused(paused: Overlay['paused'], { topic, partition }: { topic: string; partition: number }): boolean {
  const of = Object.hasOwn(paused, '*') ? '*' : Object.hasOwn(paused, topic) ? paused[topic] : undefined
  if (of === undefined) return false
  const isIn = (range: string) => {
    const [first = '', last = first] = range.split('-')
    return Number(first) <= partition && partition <= Number(last)
  }
  return of === '*' || of.split(',').some(isIn)
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
