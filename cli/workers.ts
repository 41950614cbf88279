import type { Worker } from './answers.ts'
import { apiPath } from './apiClient.ts'
import { cell, counted, instant, pageOf, shownMs } from './cells.ts'
import type { Given } from './noun.ts'
import type { Said } from './said.ts'
import { tableOf } from './table.ts'

/** `millrace workers [ID]`. */
export async function workers({ api, args }: Given): Promise<Said> {
  const [id] = args
  if (id !== undefined) return await oneWorker(api, id)
  const answer = await api.ask({ method: 'GET', path: apiPath('workers') })
  const { workers: found } = answer.json as { workers: readonly Worker[] }
  return { json: answer.text, names: found.map(one => one.id), text: wide => table(found, wide) }
}

const titles = ['WORKER', 'STATE', 'UNITS', 'HELD', 'LOAD', 'SHARE', 'BEAT', 'ERRORS']
const wideTitles = ['CAPACITY', 'TAGS', 'SOFTWARE', 'STARTED', 'ADDRESS', 'TASK']
const numbers = new Set(['UNITS', 'HELD', 'LOAD', 'SHARE', 'BEAT', 'ERRORS', 'CAPACITY'])

function table(found: readonly Worker[], wide: boolean): string {
  if (found.length === 0) return 'no workers\n'
  const rows = found.map(one => {
    const { record } = one
    const basic = [
      one.id,
      stateOf(one),
      counted(one.units),
      counted(one.held),
      counted(one.load === null ? null : Math.round(one.load)),
      shareOf(one.share),
      shownMs(one.beatAgeMs),
      counted(one.errors.length),
    ]
    if (!wide) return basic
    const started = record ? instant(record.startedAtMs) : '-'
    const tags = cell(record?.tags.join(','))
    const who = [cell(record?.software), started, cell(record?.address), cell(record?.task)]
    return [...basic, counted(record?.capacity), tags, ...who]
  })
  return tableOf(wide ? [...titles, ...wideTitles] : titles, rows, numbers)
}

function stateOf({ state, record, drain, released, quarantineMs, unreadable, silent }: Worker): string {
  const words = [unreadable ? 'unreadable' : (state ?? record?.state ?? '-')]
  // That it is ready nobody can say of one that is not heard.
  if (silent) words.splice(0, words[0] === 'ready' ? 1 : 0, 'silent')
  if (released) words.push('released')
  else if (drain && !words.includes('draining')) words.push('draining')
  if (quarantineMs !== null && !words.includes('quarantined')) words.push('quarantined')
  return cell(words.join(', '))
}

/** A load of its share of all is even. */
function shareOf(share: number | null): string {
  return counted(share === null ? null : Math.round(share))
}

async function oneWorker(api: Given['api'], id: string): Promise<Said> {
  const answer = await api.ask({ method: 'GET', path: apiPath('workers', id) })
  const found = answer.json as Worker
  return { json: answer.text, names: [found.id], text: () => page(found) }
}

function page(of: Worker): string {
  const { record, drain, wanted, applied } = of
  const at = (is: Worker['wanted']) => (is === null ? '-' : `${is.epoch}/${is.generation}`)
  const rows: [string, string][] = [
    ['worker', of.id],
    ['state', stateOf(of)],
    ['units', `${counted(of.units)} assigned, ${counted(of.held)} held (${cell(of.heldState)})`],
    ['generation', `${at(wanted)} wanted, ${at(applied)} applied`],
    [
      'load',
      `${counted(of.load === null ? null : Math.round(of.load))} bytes a second; even would be ${shareOf(of.share)}`,
    ],
    ['last beat', of.beatAgeMs === null ? 'not known' : `${shownMs(of.beatAgeMs)} ago`],
  ]
  if (record) {
    rows.push(
      ['lease', shownMs(record.leaseMs)],
      ['capacity', `${counted(record.capacity)}, at most ${counted(record.unitsMax)} units`],
      ['tags', cell(record.tags.join(', '))],
      ['software', `${cell(record.software)}, revision ${cell(record.revision)}`],
      ['started', instant(record.startedAtMs)],
      ['address', cell(record.address)],
      ['task', cell(record.task)],
    )
  }
  if (of.unreadable) rows.push(['unreadable', cell(of.unreadable.message)])
  if (drain) rows.push(['drain', `since ${instant(drain.atMs)} by ${cell(drain.by)} (${cell(drain.reason)})`])
  if (of.quarantineMs !== null) rows.push(['quarantine', `for ${shownMs(of.quarantineMs)} more`])
  for (const { unit, code, sinceMs, offset } of of.errors) {
    const where = offset === null ? '' : ` at offset ${offset}`
    rows.push(['error', cell(`${unit}: ${code}${where}, since ${instant(sinceMs)}`)])
  }
  const holds = of.holds ?? []
  for (const unit of holds) rows.push(['holds', cell(unit)])
  if (of.held > holds.length) rows.push(['', `and ${counted(of.held - holds.length)} more`])
  return pageOf(rows)
}
