import { tableOf } from '../../cli/table.ts'
import type { ChaosResult, Struck } from './chaos.ts'
import { faultKinds } from './faults.ts'

/** For people: by kind of fault, by process, and what was wrong. */
export function chaosTable(of: ChaosResult): string {
  const kinds = faultKinds.flatMap(kind => {
    const found = of.struck.filter(one => one.kind === kind)
    return found.length === 0 ? [] : [rowOf(kind, found)]
  })
  const titles = ['FAULT', 'TIMES', 'LONGEST GAP MS', 'OVER AFTER MS', 'TWICE', 'MOVES', 'LOST', 'OUT OF ORDER']
  const memoryTitles = ['PROCESS', 'ID', 'SECONDS', 'FIRST MIB', 'LAST MIB', 'PEAK MIB', 'MIB/MIN']
  const memory = of.memory.map(one => [
    one.group,
    one.id,
    String(one.seconds),
    String(one.firstMib),
    String(one.lastMib),
    String(one.peakMib),
    one.mibPerMinute === null ? '-' : one.mibPerMinute.toFixed(2),
  ])
  const all = `seed ${of.plan.seed}, ${of.seconds} s, ${of.struck.length} faults: ${of.records} records, ${of.lost} lost, ${of.outOfOrder} out of order, ${of.repeated} twice, ${of.moves} moves`
  return [
    tableOf(titles, kinds, new Set(titles.slice(1))),
    tableOf(memoryTitles, memory, new Set(memoryTitles.slice(2))),
    [all, ...of.wrong.map(line => `WRONG: ${line}`)].map(line => `${line}\n`).join(''),
  ].join('\n')
}

/** The worst of its kind; what comes twice and moves are summed. */
function rowOf(kind: string, found: readonly Struck[]): string[] {
  const most = (by: (one: Struck) => number) => String(Math.max(...found.map(by)))
  const sum = (by: (one: Struck) => number) => String(found.reduce((all, one) => all + by(one), 0))
  return [
    kind,
    String(found.length),
    most(one => one.gapMs),
    most(one => one.recoveredMs),
    sum(one => one.repeated),
    sum(one => one.moves),
    sum(one => one.lost),
    sum(one => one.outOfOrder),
  ]
}
