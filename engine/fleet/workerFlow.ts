import type { Codec } from '../batch/codec.ts'
import type { Crc } from '../batch/crc.ts'
import { type Fault, faultOf, MillraceError } from '../errors.ts'
import { atMost } from '../flow/atMost.ts'
import type { AnyKind, FlowWorker, Measured } from '../flow/contract.ts'
import type { FlowEvent } from '../flow/event.ts'
import type { Overlay } from '../flow/overlay.ts'
import { backOffMs, unitAbortMs, unitBackOff, unitStopMs } from '../limits.ts'
import type { Chance, Clock } from '../ports/clock.ts'
import type { KafkaCluster } from '../ports/kafka.ts'
import type { UnitError } from './decide/heldErrors.ts'
import { type Runner, startRunner } from './runner.ts'
import type { Turns } from './turns.ts'

/** A flow as its document says, read by its kind. */
export type FlowSpec = { kind: AnyKind; spec: unknown; overlay: Overlay }

/** What all flows of a worker share. */
export type WorkerParts = {
  kafka(cluster: string): KafkaCluster
  clock: Clock
  chance: Chance
  codec: Codec
  crc: Crc
  lease: { mayWrite(): boolean; mayCommit(): boolean }
  /** Finish what is under way; wait no longer. */
  stop: AbortSignal
  abort: AbortSignal
  stops: Turns
  tell(flow: string, event: FlowEvent): void
  /** What is held, or why something does not run, may have changed. */
  changed(): void
  dirty(): void
  /** A bug. */
  broke(error: unknown): void
}

export type WorkerFlow = {
  readonly flow: string
  /** The units that are wanted here, by their names in the flow. `isCurrent`: its spec is the one of that wish. */
  want(units: ReadonlySet<string>, isCurrent: boolean): void
  /**
   * Its document as it is now, or why it cannot be read: then what runs goes on (COORDINATION §10). Whether new units
   * may begin by it `want` says: it may have been read for a wish before this one.
   */
  take(found: FlowSpec | Fault): void
  /** C-43: every wanted unit that has not ended, started or not, and those that still stop. */
  held(): ReadonlySet<string>
  measured(): Iterable<Measured>
  errors(): Iterable<UnitError>
  /** Null while nothing of it can run here. */
  running(): { kind: AnyKind; worker: FlowWorker } | null
  /** The lease closes; the fence; on again from the checkpoints, when what was cut has ended (C-5, C-12). */
  hold(): void
  cut(): void
  /** Nothing runs that was told to stop. */
  quiet(): Promise<void>
  resume(): void
  /** After the stop of the process, or `cut`: all has ended. False: not every checkpoint is stored. */
  end(): Promise<boolean>
}

type Opened = {
  plan: FlowSpec
  worker: FlowWorker
  runner: Runner
  /** False for ever when it is given up: nothing of it is written any more, whatever the lease says. */
  lives: { writes: boolean; commits: boolean }
}

type State = {
  flow: string
  parts: WorkerParts
  wanted: ReadonlySet<string>
  isCurrent: boolean
  /** Their `run` has returned: not again before they were wanted no more (C-45). */
  ended: Set<string>
  plan: FlowSpec | null
  fault: { fault: Fault; sinceMs: number } | null
  opened: Opened | null
  /** What is open is given up: for a plan that running units do not take, or what it cannot go on with. */
  leaving: boolean
  closing: Promise<boolean> | null
  broken: { fault: Fault; sinceMs: number; cancel(): void } | null
  /** How often it broke under this plan. */
  breaks: number
  mode: 'open' | 'held' | 'cut'
}

/** The worker's side of one flow in one process of a fleet (C-44, C-45): one `open` of its kind for all its units. */
export function startWorkerFlow(flow: string, parts: WorkerParts): WorkerFlow {
  const state: State = {
    ...{ flow, parts, wanted: new Set<string>(), isCurrent: false, ended: new Set<string>(), plan: null, fault: null },
    ...{ opened: null, leaving: false, closing: null, broken: null, breaks: 0, mode: 'open' },
  }
  return {
    flow,
    want(units, isCurrent) {
      state.wanted = units
      state.isCurrent = isCurrent
      for (const unit of state.ended) if (!units.has(unit)) state.ended.delete(unit)
      settle(state)
    },
    take: found => take(state, found),
    held: () => heldOf(state),
    measured: () => state.opened?.worker.measured(parts.clock.nowMs()) ?? [],
    errors: () => errorsOf(state),
    running: () => (state.opened ? { kind: state.opened.plan.kind, worker: state.opened.worker } : null),
    hold() {
      if (state.mode === 'open') state.mode = 'held'
      state.opened?.runner.hold()
    },
    cut() {
      state.mode = 'cut'
      if (state.opened) state.opened.lives.writes = false
      state.opened?.runner.cut()
    },
    async quiet() {
      await state.opened?.runner.quiet()
    },
    resume() {
      state.mode = 'open'
      if (state.opened && !state.leaving) state.opened.lives.writes = true
      state.opened?.runner.release()
      settle(state)
    },
    async end() {
      state.broken?.cancel()
      if (state.mode === 'cut') giveUp(state)
      if (state.opened) return await close(state, state.opened)
      return (await state.closing) ?? true
    },
  }
}

/** Brings what runs to what is wanted; called whenever something has changed, and harmless when nothing has. */
function settle(state: State): void {
  const { opened, wanted, plan, parts } = state
  if (opened === null) {
    if (state.closing || wanted.size === 0 || plan === null || state.broken || parts.stop.aborted) return
    if (state.mode !== 'open' || !state.isCurrent) return
    open(state, plan)
    return settle(state)
  }
  const owned = opened.runner.owned()
  if (state.leaving || (wanted.size === 0 && owned.size === 0)) {
    opened.runner.set([])
    if (owned.size === 0 && !state.closing) void close(state, opened).then(() => settle(state), parts.broke)
    return
  }
  // What begins under an old spec could go to where it is not meant to.
  const may = [...wanted].filter(unit => !state.ended.has(unit) && (state.isCurrent || owned.has(unit)))
  opened.runner.set(may.map(unit => ({ unit })))
}

function open(state: State, plan: FlowSpec): void {
  const { flow, parts } = state
  const { kafka, clock, chance, codec, crc, stop, abort, lease } = parts
  const lives = { writes: true, commits: true }
  const fatal = (error: unknown) => broke(state, lives, error)
  const worker = plan.kind.open(plan.spec, {
    ...{ flow, kafka, clock, chance, codec, crc, untilEnd: false, fatal },
    mayWrite: () => lives.writes && lease.mayWrite(),
    mayCommit: () => lives.commits && lives.writes && lease.mayCommit(),
    overlay: () => state.plan?.overlay ?? plan.overlay,
    tell: event => parts.tell(flow, event),
  })
  const changed = oncePerTurn(() => {
    settle(state)
    parts.changed()
  })
  const runner = startRunner({
    ...{ worker, clock, chance, stop, abort, retry: true, changed, fatal },
    fleet: {
      stops: parts.stops,
      unitStopMs,
      ended: unit => void (state.wanted.has(unit) && state.ended.add(unit)),
      dirty: parts.dirty,
    },
  })
  state.opened = { plan, worker, runner, lives }
}

/** Nothing of it is wanted here any more, and nothing of it begins. */
function giveUp(state: State): void {
  state.wanted = new Set()
  if (state.opened === null) return
  state.leaving = true
  state.opened.runner.set([])
}

function take(state: State, found: FlowSpec | Fault): void {
  const { opened, parts } = state
  if ('code' in found) {
    const isNew = state.fault?.fault.message !== found.message
    if (isNew) state.fault = { fault: found, sinceMs: parts.clock.nowMs() }
    if (isNew) parts.tell(state.flow, { ...found, state: 'error' })
    return parts.changed()
  }
  state.fault = null
  state.plan = found
  state.breaks = 0
  // What is set aside is tried at once after a change (C-38).
  if (state.broken) mended(state)
  if (opened) {
    const { kind, spec } = opened.plan
    if (kind !== found.kind || kind.restarts(spec, found.spec)) state.leaving = true
    else {
      opened.plan = found
      opened.runner.again()
    }
  }
  settle(state)
  parts.changed()
}

/** When none of its units runs any more, or they were cut and are not waited for longer than a moment. */
function close(state: State, opened: Opened): Promise<boolean> {
  state.closing ??= (async () => {
    const { parts } = state
    const isHard = () => state.mode === 'cut' || parts.abort.aborted
    if (isHard()) await atMost(opened.runner.quiet(), unitAbortMs, parts.clock)
    else await opened.runner.idle()
    const aborted = new AbortController()
    if (isHard()) aborted.abort()
    const closed = opened.worker.close(AbortSignal.any([parts.abort, aborted.signal]))
    const isWhole = isHard() ? await atMost(closed, unitAbortMs, parts.clock) : await closed
    Object.assign(opened.lives, { writes: false, commits: false })
    Object.assign(state, { opened: null, closing: null, leaving: false })
    return isWhole ?? false
  })()
  return state.closing
}

/** A flow that cannot go on is given up and begun anew by the curve `unit`; its units stay ours meanwhile. */
function broke(state: State, lives: Opened['lives'], error: unknown): void {
  const { parts, opened } = state
  if (!(error instanceof MillraceError)) return parts.broke(error)
  // Of one that was given up, or is fenced: others may have moved what it knows.
  if (opened?.lives !== lives || state.leaving || state.mode !== 'open') return
  lives.writes = false
  const fault = faultOf(error, error.code)
  const cancel = parts.clock.after(backOffMs(unitBackOff, ++state.breaks, parts.chance), () => mended(state))
  state.broken = { fault, sinceMs: parts.clock.nowMs(), cancel }
  state.leaving = true
  opened.runner.cut()
  parts.tell(state.flow, { ...fault, state: 'error' })
  settle(state)
  parts.changed()
}

function mended(state: State): void {
  state.broken?.cancel()
  state.broken = null
  settle(state)
}

function heldOf({ opened, wanted, ended, parts }: State): ReadonlySet<string> {
  const held = new Set(opened?.runner.owned())
  // What has not begun will not begin here.
  if (parts.stop.aborted) return held
  for (const unit of wanted) if (!ended.has(unit)) held.add(unit)
  return held
}

function* errorsOf(state: State): Iterable<UnitError> {
  const { opened, broken, fault, parts, wanted } = state
  const owned = broken ? new Set() : (opened?.runner.owned() ?? new Set())
  const why = broken ?? fault
  if (why) {
    const { sinceMs } = why
    for (const unit of wanted) if (!owned.has(unit)) yield { unit, code: why.fault.code, sinceMs, offset: null }
  }
  if (broken) return
  for (const one of opened?.worker.measured(parts.clock.nowMs()) ?? []) if (one.code !== null) yield one
}

/** Thousands of units may end in one turn, and what follows looks at all of them. */
function oncePerTurn(act: () => void): () => void {
  let isDue = false
  return () => {
    if (isDue) return
    isDue = true
    queueMicrotask(() => {
      isDue = false
      act()
    })
  }
}
