import type { Plan } from './answers.ts'
import { apiPath } from './apiClient.ts'
import { cell, counted } from './cells.ts'
import type { Given } from './noun.ts'
import type { Said } from './said.ts'
import { tableOf } from './table.ts'

/** `millrace plan`: what the next round would do. */
export async function plan({ api }: Given): Promise<Said> {
  const answer = await api.ask({ method: 'GET', path: apiPath('plan') })
  const found = answer.json as Plan
  const names = [...found.withdraw, ...found.give].map(({ unit }) => unit)
  return { json: answer.text, names, text: wide => page(found, wide) }
}

/** What the planner's reasons mean to whoever asks why nothing moves. */
const whys: Readonly<Record<string, string>> = {
  gave: 'units that nobody had are given first; loads are looked at after that',
  leaving: 'units leave workers that stop, or are drained',
  transit: 'units are on their way; loads are looked at when they have come',
  off: 'balancing is off: units are moved only where they must be (millrace balancing on)',
  'not-due': 'balancing is on; loads are looked at each 10 s, and that is not due now',
  few: 'fewer than two workers are ready',
  steady: 'loads are even enough',
  'no-gain': 'no move would make loads more even',
  balance: 'loads are evened out',
}

const titles = ['DO', 'UNIT', 'FROM', 'TO', 'WEIGHT']

function page({ give, withdraw, unplaced, why, more, loads }: Plan, wide: boolean): string {
  const moves = [
    ...withdraw.map(one => ['withdraw', cell(one.unit), cell(one.from), cell(one.to), counted(one.weight)]),
    ...give.map(one => ['give', cell(one.unit), cell(one.from), cell(one.to), counted(one.weight)]),
    ...unplaced.map(one => ['unplaced', cell(one.unit), '-', cell(one.why), '-']),
  ]
  const head = moves.length === 0 ? 'nothing to do\n' : tableOf(titles, moves, new Set(['WEIGHT']))
  const after = more ? '; more follows in later rounds' : ''
  const shown = loads.map(({ worker, load }) => [cell(worker), counted(Math.round(load))])
  const weighed = wide && shown.length > 0 ? `\n${tableOf(['WORKER', 'LOAD'], shown, new Set(['LOAD']))}` : ''
  return `${head}why: ${cell(why)}${Object.hasOwn(whys, why) ? `: ${whys[why]}` : ''}${after}\n${weighed}`
}
