import { type Fault, faultOf, MillraceError } from '../errors.ts'
import type { FlowWorker, UnitPlan } from '../flow/contract.ts'
import { pause } from '../flow/pause.ts'
import { backOffMs, unitBackOff } from '../limits.ts'
import type { Chance, Clock } from '../ports/clock.ts'

export type Runner = {
  /** What should run from now on: the rest is stopped, what has ended is not started again before it has left. */
  set(wanted: readonly UnitPlan[]): void
  /** Those that wait for their next try have it now. */
  again(): void
  /** Units that run, stop, wait to run again, or are over and have not left. */
  owned(): ReadonlySet<string>
  /** Whether this unit has ended by itself, or failed and is not tried again. */
  over(unit: string): boolean
  /** When none runs any more. */
  idle(): Promise<void>
}

type Slot = {
  stop: AbortController
  /** Cuts the wait for the next try short. */
  hurry: AbortController
  over: boolean
  done: Promise<void>
}

/**
 * Starts, stops and ends units (C-96): from a list, on a level, so that being told twice is harmless. A unit that
 * fails is tried again on the `unit` curve; with `retry` false its first failure is its last.
 */
export function startRunner(how: {
  worker: FlowWorker
  clock: Clock
  chance: Chance
  stop: AbortSignal
  abort: AbortSignal
  retry: boolean
  /** A unit has ended, failed or left. */
  changed(): void
  fatal(error: unknown): void
}): Runner {
  const slots = new Map<string, Slot>()

  function start(unit: string): void {
    const slot: Slot = {
      stop: new AbortController(),
      hurry: new AbortController(),
      over: false,
      done: Promise.resolve(),
    }
    slots.set(unit, slot)
    slot.done = live(unit, slot).catch(how.fatal).finally(how.changed)
  }

  async function live(unit: string, slot: Slot): Promise<void> {
    const stop = AbortSignal.any([how.stop, slot.stop.signal])
    for (let tries = 1; ; tries++) {
      const fault = await attempt(unit, stop, () => {
        tries = 1
      })
      if (stop.aborted) break
      if (fault === null || !how.retry) {
        slot.over = true
        return
      }
      how.changed()
      await pause(how.clock, backOffMs(unitBackOff, tries, how.chance), AbortSignal.any([stop, hurryOf(slot)]))
      // Where it begins without a checkpoint is the leader's to say (M-70): it must be free for that.
      if (stop.aborted || fault.code === 'checkpoint-lost') break
    }
    remove(unit)
  }

  function remove(unit: string): void {
    slots.delete(unit)
    how.worker.left(unit)
  }

  async function attempt(unit: string, stop: AbortSignal, progress: () => void): Promise<Fault | null> {
    try {
      await how.worker.run(unit, { stop, abort: how.abort, progress })
      return null
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error
      return faultOf(error, error.code)
    }
  }

  return {
    set(wanted) {
      const names = new Set(wanted.map(plan => plan.unit))
      for (const [unit, slot] of slots) {
        if (names.has(unit)) continue
        slot.stop.abort()
        if (slot.over) remove(unit)
      }
      if (how.stop.aborted) return
      for (const unit of names) if (!slots.has(unit)) start(unit)
    },
    again() {
      for (const slot of slots.values()) slot.hurry.abort()
    },
    owned: () => new Set(slots.keys()),
    over: unit => slots.get(unit)?.over ?? false,
    async idle() {
      await Promise.all([...slots.values()].map(slot => slot.done))
    },
  }
}

function hurryOf(slot: Slot): AbortSignal {
  if (slot.hurry.signal.aborted) slot.hurry = new AbortController()
  return slot.hurry.signal
}
