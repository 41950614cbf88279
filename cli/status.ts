import type { Fault } from '../engine/errors.ts'
import type { FlowSummary, Frame, Unreadable } from './answers.ts'
import { apiPath } from './apiClient.ts'
import { cell, pageOf, plural, shownMs } from './cells.ts'
import { flowTable } from './flows.ts'
import type { Given } from './noun.ts'
import type { Said } from './said.ts'

type Status = Frame & {
  version: string
  mode: 'fleet' | 'solo'
  leads: boolean
  leadingMs: number | null
  keepsChanges: boolean
  coordination: { phase: string; trouble: Fault | null }
  auto: boolean
  workers: { there: number; drained: number; silent: number }
  flows: readonly FlowSummary[]
  unreadable: readonly Unreadable[]
  /** Absent in an answer of an older version. */
  wishesUnreadable?: Fault | null
}

/** `millrace status` (C-102). */
export async function status({ api }: Given): Promise<Said> {
  const answer = await api.ask({ method: 'GET', path: apiPath('status') })
  const found = answer.json as Status
  return {
    json: answer.text,
    names: [...found.flows, ...found.unreadable].map(({ flow }) => flow),
    text: wide => `${head(found, api.url)}\n${flowTable([...found.flows, ...found.unreadable], wide)}`,
  }
}

function head(found: Status, url: string): string {
  const rows: [string, string][] = [
    ['api', cell(url)],
    ['leader', leaderOf(found)],
    ['version', cell(found.version)],
  ]
  if (found.mode === 'fleet') {
    const { phase, trouble } = found.coordination
    const drained = found.workers.drained === 0 ? '' : `, ${found.workers.drained} drained`
    const silent = found.workers.silent === 0 ? '' : `, ${found.workers.silent} silent`
    rows.push(
      ['coordination', cell(trouble === null ? phase : `${phase}: ${trouble.code}: ${trouble.message}`)],
      ['workers', `${plural(found.workers.there, 'worker')}${drained}${silent}`],
      ['balancing', found.auto ? 'on' : 'off: units are moved only where they must be'],
    )
    const { wishesUnreadable: unread } = found
    if (unread) rows.push(['wishes', cell(`the last good ones stand: ${unread.code}: ${unread.message}`)])
  } else rows.push(['workers', 'one process runs everything'])
  if (!found.keepsChanges) rows.push(['changes', 'are forgotten when the process ends: it has no store'])
  return pageOf(rows)
}

function leaderOf({ leader, epoch, leads, leadingMs }: Status): string {
  if (leader === null) return 'nobody leads: units run on, but nothing is placed or moved'
  const since = leadingMs === null ? '' : `, since ${shownMs(leadingMs)}`
  return `${cell(leader)}, epoch ${epoch}${leads ? since : '; it cannot be asked, so nothing is known of units'}`
}
