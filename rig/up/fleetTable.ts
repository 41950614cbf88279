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
  }[]
  flows: readonly { flow: string; wanted: number | null; inTransit: number | null }[]
}

/** A process of the fleet, by its id; `name` is that of its place. */
export type ProcessSeen = { name: string; pid: number; ended: boolean }

const titles = ['WORKER', 'PID', 'STATE', 'ASSIGNED', 'HELD', 'LAST BEAT']
const numbers = new Set(['PID', 'ASSIGNED', 'HELD', 'LAST BEAT'])
/** A beat is due each 2 s. */
const silentMs = 4_500
/** An answer of the API is due each second. */
const awayMs = 2_500

/** The lines of the table: who holds what. `silentMs`: since when the API has not answered. */
export function fleetTable(
  seen: FleetSeen | null,
  how: {
    processes: ReadonlyMap<string, ProcessSeen>
    pids: ReadonlyMap<string, number | null>
    url: string | null
    silentMs: number
    seconds: number
  },
): string[] {
  const pids = [...how.pids].map(([name, pid]) => `${name} ${pid ?? 'is down'}`).join('   ')
  const foot = [`pids: ${pids}`, `API ${how.url ?? 'starting'}   up ${shownSeconds(how.seconds)}   Ctrl-C ends it`]
  if (seen === null) return ['the fleet is starting', ...foot]
  const { leader, epoch, workers, flows } = seen
  const isDead = (id: string) => how.processes.get(id)?.ended ?? false
  const rows = workers.map(worker => [
    worker.id,
    String(how.processes.get(worker.id)?.pid ?? '-'),
    stateOf(worker, isDead(worker.id)),
    worker.units === null ? '-' : count(worker.units),
    count(worker.held),
    worker.beatAgeMs === null ? '-' : `${(worker.beatAgeMs / 1_000).toFixed(1)} s`,
  ])
  const dead = workers.filter(({ id }) => isDead(id)).reduce((sum, { held }) => sum + held, 0)
  const running = workers.reduce((sum, { held }) => sum + held, 0) - dead
  const number = (n: number | null) => (n === null ? '-' : count(n))
  const wanted = flows.every(flow => flow.wanted === null) ? null : sum(flows.map(flow => flow.wanted))
  const units = `${count(running)} of ${number(wanted)} units run, ${number(sum(flows.map(flow => flow.inTransit)))} in transit`
  const orphans = dead > 0 ? `, ${count(dead)} wait for the end of a dead worker's lease` : ''
  return [
    ...tableOf(titles, rows, numbers).trimEnd().split('\n'),
    `${units}${orphans}`,
    leads(leader, epoch, how),
    ...foot,
  ]
}

function stateOf({ state, heldState, beatAgeMs }: FleetSeen['workers'][number], isDead: boolean): string {
  if (isDead) return 'killed'
  if (beatAgeMs !== null && beatAgeMs > silentMs) return 'silent'
  return heldState === null || heldState === 'running' ? (state ?? '-') : heldState
}

function leads(
  leader: string | null,
  epoch: number | null,
  how: { processes: ReadonlyMap<string, ProcessSeen>; silentMs: number },
): string {
  if (how.silentMs > awayMs)
    return `the API has not answered for ${shownSeconds(how.silentMs / 1_000)}: what stands above may be old`
  const process = leader === null ? undefined : how.processes.get(leader)
  if (leader === null) return 'nobody leads'
  if (process?.ended) return `nobody leads: ${leader} is gone, its epoch was ${epoch}`
  return `${leader} (pid ${process?.pid ?? '-'}) leads, epoch ${epoch}`
}

function sum(numbers: readonly (number | null)[]): number | null {
  return numbers.some(n => n !== null) ? numbers.reduce<number>((all, n) => all + (n ?? 0), 0) : null
}
