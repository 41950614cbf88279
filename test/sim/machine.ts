import type { Clock } from '../../engine/ports/clock.ts'
import type { World } from './world.ts'

/** A process with a clock of its own, that can be stopped, go on, and be killed. */
export type Machine = {
  name: string
  clock: Clock
  uptimeMs(): number
  isAlive(): boolean
  isStopped(): boolean
  /** Runs code of the process: in this event, or when it goes on; never after its death. */
  enter(run: () => void): void
  /** SIGSTOP: its clock goes on, its code does not run. */
  stop(): void
  /** SIGCONT: what came meanwhile runs, in an order of its own. */
  goOn(): void
  kill(): void
  onKill(then: () => void): void
  /** How often its code has run. */
  turns(): number
}

const wallAtStartMs = 1_700_000_000_000

export function makeMachine(world: World, name: string, rate: number): Machine {
  const bornMs = world.nowMs()
  /** Monotonic clocks of two machines have nothing in common. */
  const startMs = Math.floor(world.chance() * 1e9)
  let alive = true
  let stopped = false
  let turns = 0
  let waiting: { isTimer: boolean; run: () => void }[] = []
  const deaths: (() => void)[] = []
  const nowMs = () => startMs + (world.nowMs() - bornMs) * rate

  function run(code: () => void): void {
    turns++
    world.touched()
    code()
  }

  function enter(code: () => void, isTimer = false): void {
    if (!alive) return
    if (stopped) waiting.push({ isTimer, run: code })
    else run(code)
  }

  return {
    name,
    clock: {
      nowMs,
      wallMs: () => Math.floor(wallAtStartMs + world.nowMs()),
      after(ms, then) {
        let due: (() => void) | null = then
        const cancel = world.after(Math.max(0, ms) / rate, () => enter(() => due?.(), true))
        return () => {
          due = null
          cancel()
        }
      },
    },
    uptimeMs: nowMs,
    isAlive: () => alive,
    isStopped: () => stopped,
    enter: code => enter(code),
    stop() {
      if (!alive || stopped) return
      world.note(`${name} stopped`)
      stopped = true
    },
    goOn() {
      if (!alive || !stopped) return
      world.note(`${name} goes on`)
      stopped = false
      // What is looked at first, its timers or its sockets, is not said.
      const timersFirst = world.happens(0.5)
      const of = (isTimer: boolean) => waiting.filter(one => one.isTimer === isTimer)
      const all = [...of(timersFirst), ...of(!timersFirst)]
      waiting = []
      for (const one of all) world.after(0, () => enter(one.run, one.isTimer))
    },
    kill() {
      if (!alive) return
      world.note(`${name} killed`)
      alive = false
      waiting = []
      for (const then of deaths) then()
    },
    turns: () => turns,
    onKill: then => void deaths.push(then),
  }
}
