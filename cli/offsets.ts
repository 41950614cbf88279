import type { Fault } from '../engine/errors.ts'
import { performTimeoutMs } from '../engine/limits.ts'
import type { Offset } from './answers.ts'
import { type ApiRequest, apiPath } from './apiClient.ts'
import { cell, counted, offsetCell, plural } from './cells.ts'
import type { Given } from './noun.ts'
import { offsetRows } from './offsetRows.ts'
import { type Place, placeOf } from './place.ts'
import type { Said } from './said.ts'
import { tableOf } from './table.ts'
import { usage } from './usage.ts'

const titles = ['TOPIC', 'PARTITION', 'CHECKPOINT', 'START', 'STABLE', 'END', 'LAG']

/** `millrace offsets get FLOW[/TOPIC]`. */
export async function getOffsets({ api, args }: Given): Promise<Said> {
  const place = placeOf(args[0] ?? '', { min: 1, max: 2 })
  const { json, rows } = await offsetRows(api, place)
  const cells = rows.map(row => [
    row.topic,
    String(row.partition),
    offsetCell(row.checkpoint),
    offsetCell(row.logStart),
    offsetCell(row.lastStable),
    offsetCell(row.highWatermark),
    counted(row.lagRecords),
  ])
  const names = rows.map(({ topic, partition }) => `${place.flow}/${topic}/${partition}`)
  return { json, names, text: () => tableOf(titles, cells, new Set(titles.slice(1))) }
}

type Change = { topic: string; partition: number; before: Offset | null; after: Offset | null; fault: Fault | null }

const partial = 10
const example = 'millrace offsets reset clicks/orders --to earliest --dry-run'

/** `millrace offsets reset FLOW[/TOPIC[/PARTITION]] --to WHERE`: of what is paused and held by nobody (M-94). */
export async function resetOffsets({ api, args, flags }: Given): Promise<Said> {
  const place = placeOf(args[0] ?? '', { min: 1, max: 3 })
  const dryRun = flags.dryRun === true
  const request: ApiRequest = {
    method: 'PUT',
    path: apiPath('flows', place.flow, 'offsets'),
    body: { parts: partsOf(place), to: whereOf(flags.to), dryRun },
    moreMs: performTimeoutMs,
  }
  const answer = await api.ask(request)
  const { parts } = answer.json as { parts: readonly Change[] }
  const bad = parts.filter(({ fault }) => fault !== null)
  const names = parts.map(({ topic, partition }) => `${place.flow}/${topic}/${partition}`)
  const said: Said = { json: answer.text, names, text: () => changesTable(parts, dryRun) }
  if (bad.length === 0) return said
  const note = `${plural(bad.length, 'partition')} of ${counted(parts.length)} could not be set\n`
  return { ...said, note, code: bad.length < parts.length ? partial : 1 }
}

function partsOf({ topic, partition }: Place): '*' | Record<string, string> {
  if (topic === null) return '*'
  return Object.fromEntries([[topic, partition === null ? '*' : String(partition)]])
}

/** A time has its zone, or is a day in UTC: what it means must not depend on where it is typed. */
function whereOf(text: string | undefined): unknown {
  if (text === undefined) throw usage('missing: --to earliest, latest, a time or an offset', example)
  if (text === 'earliest' || text === 'latest') return text
  if (/^(0|[1-9]\d{0,18})$/.test(text)) {
    return { offset: Number.isSafeInteger(Number(text)) ? Number(text) : text }
  }
  const isTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/.test(text)
  const timeMs = isTime ? Date.parse(text) : Number.NaN
  if (Number.isFinite(timeMs) && timeMs >= 0) return { timeMs }
  const expected = 'earliest, latest, an offset, or a time such as 2026-01-31T00:00:00Z'
  throw usage(`--to: expected ${expected}, found '${text}'`, example)
}

function changesTable(parts: readonly Change[], dryRun: boolean): string {
  if (parts.length === 0) return 'no partitions\n'
  const rows = parts.map(({ topic, partition, before, after, fault }) => [
    topic,
    String(partition),
    offsetCell(before),
    offsetCell(after),
    fault === null ? '' : cell(`${fault.code}: ${fault.message}`),
  ])
  const shown = tableOf(
    ['TOPIC', 'PARTITION', 'BEFORE', 'AFTER', 'NOTE'],
    rows,
    new Set(['PARTITION', 'BEFORE', 'AFTER']),
  )
  return `${shown}${dryRun ? 'nothing is changed\n' : ''}`
}
