import { pause } from '../flow/pause.ts'
import { untilAborted } from '../flow/untilAborted.ts'
import { backOffMs, supervisedWellMs, unitBackOff } from '../limits.ts'
import type { Chance, Clock } from '../ports/clock.ts'
import type { Exit, Process, Processes } from '../ports/processes.ts'
import { processExit } from './decide/exits.ts'

export type Member = { group: string; index: number; pid: number | null; since: 'starting' | 'running' | 'waiting' }

export type Supervised = {
  /** `code` is that of the supervisor: 78 when a child refused its configuration, 70 when one had to be killed, else 0. */
  readonly done: Promise<{ code: number }>
  members(): Member[]
  /** All children read their configuration again. */
  hangUp(): void
}

export type SupervisorParts = {
  groups: readonly { group: string; count: number }[]
  processes: Processes
  clock: Clock
  chance: Chance
  stop: AbortSignal
  /** Wait no longer: what still runs is killed. */
  abort: AbortSignal
  line(member: Member, text: string): void
  told(member: Member, message: unknown): void
  /** One ended without being asked to; it is started anew after `againMs`. */
  ended(member: Member, exit: Exit, againMs: number): void
}

/**
 * The parent of a fleet on one machine (D-86): so many processes of each group, each started anew when it ends, on the
 * curve `unit`. It stops group after group in their order: with the controllers gone nobody moves what stops anyway.
 */
export function startSupervisor(how: SupervisorParts): Supervised {
  const { abort } = how
  const broken = new AbortController()
  const stop = AbortSignal.any([how.stop, broken.signal])
  const refused = () => broken.abort()
  const slots = how.groups.flatMap(({ group, count }) =>
    Array.from({ length: count }, (_, index) => openSlot({ group, index: index + 1, pid: null, since: 'starting' })),
  )
  for (const slot of slots) slot.done = keep(slot, { ...how, stop, refused })
  let killed = false

  async function end(): Promise<void> {
    for (const { group } of how.groups) {
      const mine = slots.filter(({ member }) => member.group === group)
      for (const slot of mine) {
        slot.asked = true
        slot.running?.stop()
      }
      await Promise.all(mine.map(slot => slot.done))
    }
  }

  function kill(): void {
    for (const { running } of slots) {
      if (running === null) continue
      killed = true
      running.kill()
    }
  }

  async function life(): Promise<{ code: number }> {
    await untilAborted(stop)
    const over = new AbortController()
    void untilAborted(AbortSignal.any([abort, over.signal])).then(() => abort.aborted && kill())
    await end()
    over.abort()
    return { code: broken.signal.aborted ? processExit.refused : killed ? processExit.aborted : processExit.clean }
  }

  return {
    done: life(),
    members: () => slots.map(({ member }) => ({ ...member })),
    hangUp() {
      for (const { running } of slots) running?.hangUp()
    },
  }
}

/** A place for one process, whichever it is at the moment. `asked`: it was told to stop. */
type Slot = { member: Member; running: Process | null; asked: boolean; done: Promise<void> }

function openSlot(member: Member): Slot {
  return { member, running: null, asked: false, done: Promise.resolve() }
}

type Keeping = SupervisorParts & { refused(): void }

async function keep(slot: Slot, how: Keeping): Promise<void> {
  const { clock, stop } = how
  for (let tries = 1; !stop.aborted; tries++) {
    const startedMs = clock.nowMs()
    const exit = await runOnce(slot, how)
    if (slot.asked) return
    if (exit.code === processExit.refused) return how.refused()
    if (clock.nowMs() - startedMs >= supervisedWellMs) tries = 1
    const againMs = backOffMs(unitBackOff, tries, how.chance)
    slot.member.since = 'waiting'
    how.ended(slot.member, exit, againMs)
    await pause(clock, againMs, stop)
  }
}

async function runOnce(slot: Slot, how: Keeping): Promise<Exit> {
  const { member } = slot
  const child = how.processes.start(member.group, {
    line: text => how.line(member, text),
    told: message => {
      member.since = 'running'
      how.told(member, message)
    },
  })
  slot.running = child
  Object.assign(member, { pid: child.pid, since: 'starting' })
  const exit = await child.exited
  slot.running = null
  member.pid = null
  return exit
}
