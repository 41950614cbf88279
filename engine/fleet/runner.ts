import { type Fault, faultOf, MillraceError } from '../errors.ts'
import type { FlowWorker, UnitPlan } from '../flow/contract.ts'
import { pause } from '../flow/pause.ts'
import { untilAborted } from '../flow/untilAborted.ts'
import { backOffMs, unitBackOff } from '../limits.ts'
import type { Chance, Clock } from '../ports/clock.ts'
import type { Turns } from './turns.ts'

export type Runner = {
  /** What should run from now on: the rest is stopped, what has ended is not started again before it has left. */
  set(wanted: readonly Pick<UnitPlan, 'unit'>[]): void
  /** Those that wait for their next try have it now. */
  again(): void
  /** Units that run, stop, wait to run again, or are over and have not left. */
  owned(): ReadonlySet<string>
  /** Whether this unit has ended by itself, or failed and is not tried again. */
  over(unit: string): boolean
  /** When none runs any more. */
  idle(): Promise<void>
  /** All stop in order and stay ours; none begins before `release` (C-5: closing). */
  hold(): void
  /** What still runs is aborted (C-5: fenced). */
  cut(): void
  /** When nothing runs that was told to stop or was cut; also while others wait for `release`. */
  quiet(): Promise<void>
  release(): void
}

export type RunnerHow = {
  worker: FlowWorker
  clock: Clock
  chance: Chance
  stop: AbortSignal
  abort: AbortSignal
  retry: boolean
  /** A unit has ended, failed or left. */
  changed(): void
  fatal(error: unknown): void
  /** In a fleet: a unit leaves as soon as it has ended (C-45), and takes this long to stop at most (C-44). */
  fleet?: {
    ended(unit: string): void
    stops: Turns
    unitStopMs: number
    /** It did not stop in time: what was in flight may be repeated. */
    dirty(unit: string): void
  }
}

type Slot = {
  /** Wanted no more. */
  leave: AbortController
  /** Of the present run. */
  stop: AbortController
  abort: AbortController
  isRunning: boolean
  /** Cuts the wait for the next try short. */
  hurry: AbortController
  over: boolean
  done: Promise<void>
  /** Its turn to stop, and the time it has for it. */
  letGo: (() => void) | null
}

/**
 * Starts, stops and ends units (C-96): from a list, on a level, so that being told twice is harmless. A unit that
 * fails is tried again on the `unit` curve; with `retry` false its first failure is its last.
 */
export function startRunner(how: RunnerHow): Runner {
  const slots = new Map<string, Slot>()
  const gate = gateOf()

  function start(unit: string): void {
    const slot = newSlot()
    slots.set(unit, slot)
    slot.done = live(unit, slot, how, gate)
      .then(isOver => {
        if (isOver && !how.fleet) return
        slots.delete(unit)
        how.worker.left(unit)
        if (isOver) how.fleet?.ended(unit)
      })
      .catch(how.fatal)
      .finally(() => {
        slot.letGo?.()
        how.changed()
      })
  }

  function stopOne(unit: string, slot: Slot): void {
    if (slot.over) {
      slots.delete(unit)
      how.worker.left(unit)
    } else slot.letGo ??= leaves(unit, slot, how)
  }

  return {
    set(wanted) {
      const names = new Set(wanted.map(plan => plan.unit))
      for (const [unit, slot] of slots) if (!names.has(unit)) stopOne(unit, slot)
      if (how.stop.aborted) return
      for (const unit of names) {
        const slot = slots.get(unit)
        if (!slot) start(unit)
        else if (slot.letGo && !slot.leave.signal.aborted) {
          // It has waited for its turn to stop, and need not stop any more.
          slot.letGo()
          slot.letGo = null
        }
      }
    },
    again() {
      for (const slot of slots.values()) slot.hurry.abort()
    },
    owned: () => new Set(slots.keys()),
    over: unit => slots.get(unit)?.over ?? false,
    async idle() {
      await Promise.all([...slots.values()].map(slot => slot.done))
    },
    hold() {
      gate.close()
      for (const slot of slots.values()) slot.stop.abort()
    },
    cut() {
      gate.close()
      for (const slot of slots.values()) {
        slot.stop.abort()
        slot.abort.abort()
      }
    },
    quiet: () => gate.quiet(() => [...slots.values()].some(slot => slot.isRunning && slot.stop.signal.aborted)),
    release: gate.open,
  }
}

function newSlot(): Slot {
  const controller = () => new AbortController()
  const signals = { leave: controller(), stop: controller(), abort: controller(), hurry: controller() }
  return { ...signals, isRunning: false, over: false, done: Promise.resolve(), letGo: null }
}

/** Has a unit stop when it is its turn, and aborts it when that takes too long; what is given ends both. */
function leaves(unit: string, slot: Slot, { clock, fleet }: RunnerHow): () => void {
  if (!fleet) {
    slot.leave.abort()
    return () => {}
  }
  let cancel = () => {}
  const over = fleet.stops.take(() => {
    slot.leave.abort()
    cancel = clock.after(fleet.unitStopMs, () => {
      if (!slot.isRunning || slot.abort.signal.aborted) return
      fleet.dirty(unit)
      slot.abort.abort()
    })
  })
  return () => {
    cancel()
    over()
  }
}

/** Runs a unit again and again. True: it has ended by itself; false: it was told to leave. */
async function live(unit: string, slot: Slot, how: RunnerHow, gate: Gate): Promise<boolean> {
  const leave = AbortSignal.any([how.stop, slot.leave.signal])
  for (let tries = 1; ; tries++) {
    if (gate.isClosed()) await gate.passed(leave)
    if (leave.aborted) return false
    slot.stop = new AbortController()
    slot.abort = new AbortController()
    const fault = await attempt(unit, slot, how, leave, () => {
      tries = 1
    })
    gate.ended()
    if (leave.aborted) return false
    // It was held, and goes on from its checkpoint.
    if (slot.stop.signal.aborted) continue
    if (fault === null || !how.retry) {
      slot.over = true
      return true
    }
    how.changed()
    await pause(how.clock, backOffMs(unitBackOff, tries, how.chance), AbortSignal.any([leave, hurryOf(slot)]))
    if (leave.aborted) return false
    // Where it begins without a checkpoint is the leader's to say (M-70): it must be free for that.
    if (fault.code === 'checkpoint-lost') return how.fleet !== undefined
  }
}

async function attempt(
  unit: string,
  slot: Slot,
  how: RunnerHow,
  leave: AbortSignal,
  progress: () => void,
): Promise<Fault | null> {
  const stop = AbortSignal.any([leave, slot.stop.signal])
  const abort = AbortSignal.any([how.abort, slot.abort.signal])
  slot.isRunning = true
  try {
    await how.worker.run(unit, { stop, abort, progress })
    return null
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error
    return faultOf(error, error.code)
  } finally {
    slot.isRunning = false
  }
}

function hurryOf(slot: Slot): AbortSignal {
  if (slot.hurry.signal.aborted) slot.hurry = new AbortController()
  return slot.hurry.signal
}

type Gate = {
  open(): void
  close(): void
  isClosed(): boolean
  /** When it opens, or when the signal says so. */
  passed(signal: AbortSignal): Promise<void>
  /** A run has ended. */
  ended(): void
  /** When `isBusy` is false, asked after each run that ends. */
  quiet(isBusy: () => boolean): Promise<void>
}

function gateOf(): Gate {
  let closed: AbortController | null = null
  let ended = Promise.withResolvers<void>()
  return {
    open() {
      closed?.abort()
      closed = null
    },
    close() {
      closed ??= new AbortController()
    },
    isClosed: () => closed !== null,
    async passed(signal) {
      while (closed && !signal.aborted) await untilAborted(AbortSignal.any([signal, closed.signal]))
    },
    ended() {
      ended.resolve()
      ended = Promise.withResolvers<void>()
    },
    async quiet(isBusy) {
      while (isBusy()) await ended.promise
    },
  }
}
