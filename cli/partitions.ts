import type { Flow, OffsetRow, Overlay, Partition } from './answers.ts'
import { apiPath } from './apiClient.ts'
import { counted, offsetCell } from './cells.ts'
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

const titles = ['TOPIC', 'PARTITION', 'CHECKPOINT', 'START', 'END', 'LAG', 'PAUSED']
const wideTitles = ['TOPIC', 'PARTITION', 'CHECKPOINT', 'START', 'STABLE', 'END', 'LAG', 'PAUSED']
const numbers = new Set(wideTitles.slice(1, -1))

async function listed(api: Given['api'], place: Place): Promise<Said> {
  const [{ json, rows }, flow] = await Promise.all([
    offsetRows(api, place),
    api.ask({ method: 'GET', path: apiPath('flows', place.flow) }),
  ])
  const { paused } = (flow.json as Flow).overlay
  return {
    json,
    names: rows.map(({ topic, partition }) => `${place.flow}/${topic}/${partition}`),
    text: wide => {
      if (rows.length === 0) return `flow ${place.flow} has no partitions yet\n`
      return tableOf(
        wide ? wideTitles : titles,
        rows.map(row => cellsOf(row, paused, wide)),
        numbers,
      )
    },
  }
}

function cellsOf(row: OffsetRow, paused: Overlay['paused'], wide: boolean): string[] {
  return [
    row.topic,
    String(row.partition),
    offsetCell(row.checkpoint),
    offsetCell(row.logStart),
    ...(wide ? [offsetCell(row.lastStable)] : []),
    offsetCell(row.highWatermark),
    counted(row.lagRecords),
    isPaused(paused, row) ? 'yes' : '-',
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
