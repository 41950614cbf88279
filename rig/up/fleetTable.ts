import { tableOf } from '../../cli/table.ts'
import { count, shownSeconds } from '../../engine/mirror/decide/progressLine.ts'

/** What the API says, as far as the table shows it (DESIGN §8). */
export type FleetSeen = {
  leader: string | null
  epoch: number | null
  workers: readonly {
    id: string
    state: string | null
    heldState: string | null
    beatAgeMs: number | null
    units: number | null
    held: number
    load: number | null
  }[]
  flows: readonly { flow: string; wanted: number | null; held: number | null; inTransit: number | null }[]
}

const titles = ['WORKER', 'PID', 'STATE', 'ASSIGNED', 'HELD', 'LOAD', 'LAST BEAT']
const numbers = new Set(['PID', 'ASSIGNED', 'HELD', 'LOAD', 'LAST BEAT'])

/** The lines of the table: who holds what. */
export function fleetTable(
  { leader, epoch, workers, flows }: FleetSeen,
  how: { pids: ReadonlyMap<string, number>; url: string; seconds: number },
): string[] {
  const rows = workers.map(({ id, state, heldState, beatAgeMs, units, held, load }) => [
    id,
    String(how.pids.get(id) ?? '-'),
    heldState === null || heldState === 'running' ? (state ?? '-') : heldState,
    units === null ? '-' : count(units),
    count(held),
    load === null ? '-' : count(Math.round(load)),
    beatAgeMs === null ? '-' : `${(beatAgeMs / 1_000).toFixed(1)} s`,
  ])
  const ofFlow = flows.map(({ flow, wanted, held, inTransit }) => {
    const number = (n: number | null) => (n === null ? '-' : count(n))
    return `${flow}: ${number(held)} of ${number(wanted)} units run, ${number(inTransit)} in transit`
  })
  const leads = leader === null ? 'nobody leads' : `${leader} leads, epoch ${epoch}`
  const foot = `${leads}   API ${how.url}   up ${shownSeconds(how.seconds)}   Ctrl-C ends it`
  return [...tableOf(titles, rows, numbers).trimEnd().split('\n'), ...ofFlow, foot]
}
