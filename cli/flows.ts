import { shownSeconds } from '../engine/mirror/decide/progressLine.ts'
import { yamlText } from '../engine/process/yamlText.ts'
import type { Flow, FlowSummary, Overlay, Unreadable } from './answers.ts'
import { apiPath } from './apiClient.ts'
import { bytesCell, cell, counted, instant, pageOf, plural, shownMs } from './cells.ts'
import type { Given } from './noun.ts'
import { placeOf } from './place.ts'
import type { Said } from './said.ts'
import { tableOf } from './table.ts'

type Listed = FlowSummary | { flow: string; unreadable: Unreadable['fault'] } | Unreadable

/** `millrace flows [NAME]`. */
export async function flows({ api, args }: Given): Promise<Said> {
  const [name] = args
  if (name !== undefined) return await oneFlow(api, placeOf(name, { min: 1, max: 1 }).flow)
  const answer = await api.ask({ method: 'GET', path: apiPath('flows') })
  const { flows: found } = answer.json as { flows: readonly Listed[] }
  return { json: answer.text, names: found.map(({ flow }) => flow), text: wide => flowTable(found, wide) }
}

const titles = ['FLOW', 'KIND', 'PAUSED', 'WANTED', 'HELD', 'TRANSIT', 'UNPLACED', 'NOTE']
const wideTitles = ['ORIGIN', 'ASSIGNED', 'UNHELD', 'CHANGED', 'BY']
const numbers = new Set(['WANTED', 'HELD', 'TRANSIT', 'UNPLACED', 'ASSIGNED', 'UNHELD'])

export function flowTable(found: readonly Listed[], wide: boolean): string {
  if (found.length === 0) return 'no flows: millrace apply -f FILE declares some\n'
  const all = wide ? [...titles.slice(0, -1), ...wideTitles, 'NOTE'] : titles
  return tableOf(
    all,
    found.map(one => rowOf(one, wide)),
    numbers,
  )
}

function rowOf(one: Listed, wide: boolean): string[] {
  if (!('kind' in one)) {
    const fault = 'fault' in one ? one.fault : one.unreadable
    const empty = Array.from({ length: titles.length - 2 + (wide ? wideTitles.length : 0) }, () => '-')
    return [one.flow, ...empty, cell(`${fault.code}: ${fault.message}`)]
  }
  const counts = [one.wanted, one.held, one.inTransit, one.unplacedCount].map(counted)
  const { atMs, by } = one.changedBy
  const more = [cell(one.origin), counted(one.assigned), shownMs(one.oldestUnheldMs), instant(atMs), cell(by)]
  return [one.flow, cell(one.kind), one.paused, ...counts, ...(wide ? more : []), noteOf(one)]
}

function noteOf({ deleting, fault, unplaced, warnings, silent, inError, hasLeftFile }: FlowSummary): string {
  if (deleting) return 'is being deleted'
  const whys = fault ? [fault.code] : unplaced.map(({ why }) => why)
  const more = inError ? [`${counted(inError)} in error`] : []
  if (silent) more.push(`${counted(silent)} on silent workers`)
  if (hasLeftFile) more.push('not in the file any more')
  return cell([...new Set([...whys, ...more, ...warnings.map(({ code }) => code)])].join(', '))
}

async function oneFlow(api: Given['api'], name: string): Promise<Said> {
  const answer = await api.ask({ method: 'GET', path: apiPath('flows', name) })
  const flow = answer.json as Flow
  return { json: answer.text, names: [flow.flow], text: () => pageOfFlow(flow) }
}

const eventsShown = 5

function pageOfFlow(flow: Flow): string {
  const { wanted, assigned, held, silent, inTransit, unplacedCount, oldestUnheldMs, fault, nextTryMs, report } = flow
  const units = [
    `${counted(wanted)} wanted`,
    `${counted(assigned)} assigned`,
    `${counted(held)} held`,
    ...(silent ? [`${counted(silent)} on silent workers`] : []),
    `${counted(inTransit)} in transit`,
    `${counted(unplacedCount)} unplaced`,
  ]
  const rows: [string, string][] = [
    ['flow', flow.flow],
    ['kind', cell(flow.kind)],
    ['origin', cell(flow.origin)],
    ['changed', `${instant(flow.changedBy.atMs)} by ${cell(flow.changedBy.by)}`],
    ['paused', pausedText(flow.overlay.paused)],
    ['units', wanted === null ? 'not known: nobody leads' : units.join(', ')],
  ]
  if (flow.inError) rows.push(['in error', `${plural(flow.inError, 'unit')}: millrace partitions ${flow.flow}`])
  if (flow.hasLeftFile) rows.push(['file', `does not have it any more: millrace delete ${flow.flow} ends it`])
  if (flow.deleting) rows.push(['deleting', 'it goes when nothing of it is held'])
  if (oldestUnheldMs !== null) rows.push(['not held', `the oldest since ${shownMs(oldestUnheldMs)}`])
  for (const { unit, why } of flow.unplaced) rows.push(['unplaced', `${cell(unit)}: ${cell(why)}`])
  if (fault) rows.push(['fault', cell(`${fault.code}: ${fault.message}`)])
  if (fault?.hint) rows.push(['', cell(fault.hint)])
  if (nextTryMs !== null) rows.push(['next try', `in ${shownMs(nextTryMs)}`])
  for (const { action, fault: why } of flow.aside) {
    rows.push(['set aside', cell(`${action}: ${why.code}: ${why.message}`)])
  }
  for (const { message, hint } of flow.warnings) {
    rows.push(['warning', cell(message)])
    if (hint) rows.push(['', cell(hint)])
  }
  if (report) rows.push(...reportRows(report))
  // The rest is in -o json.
  for (const { at, code, message } of flow.events.slice(-eventsShown)) {
    rows.push(['event', cell(`${at} ${code}: ${message}`)])
  }
  rows.push(...overlayRows(flow.overlay))
  const spec = yamlText(flow.spec).replaceAll(/^(?=.)/gm, '  ')
  return `${pageOf(rows)}spec\n${spec}`
}

function reportRows(report: NonNullable<Flow['report']>): [string, string][] {
  const seconds = report.lagSeconds === null ? '' : ` (${shownSeconds(report.lagSeconds)})`
  const gone = `${counted(report.gapRecords)} in gaps, ${counted(report.skippedRecords)} skipped`
  const copied: [string, string] = ['copied', `${counted(report.records)} records, ${bytesCell(report.bytes)}; ${gone}`]
  return [
    ['topics', `${counted(report.topics.length)}, with ${plural(report.partitions, 'partition')}`],
    ['not running', counted(report.notRunning)],
    ['lag', report.lagRecords === null ? 'unknown' : `${counted(report.lagRecords)} records${seconds}`],
    // Of a fleet nobody counts: each worker has metrics of its own.
    ...(report.records === null ? [] : [copied]),
  ]
}

export function pausedText(paused: Overlay['paused']): string {
  const of = Object.entries(paused)
  if (of.length === 0) return 'no'
  if (Object.hasOwn(paused, '*')) return 'all of it'
  return of.map(([topic, parts]) => (parts === '*' ? topic : `${topic}/${parts}`)).join(', ')
}

function overlayRows({ topics, skips }: Overlay): [string, string][] {
  return [
    ...Object.entries(topics).map(([topic, is]): [string, string] => ['by hand', `${topic} ${is}`]),
    ...Object.entries(skips).flatMap(([topic, parts]) =>
      Object.entries(parts).map(([n, [offset, records]]): [string, string] => [
        'to skip',
        `${topic}/${n}: ${counted(records)} from offset ${offset}`,
      ]),
    ),
  ]
}
