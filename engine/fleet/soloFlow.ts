import type { Codec } from '../batch/codec.ts'
import type { Crc } from '../batch/crc.ts'
import type { AnyKind, FlowWorker, SteerContext, UnitPlan, View } from '../flow/contract.ts'
import type { FlowEvent } from '../flow/event.ts'
import { isPausedUnit, type Overlay } from '../flow/overlay.ts'
import type { FlowReport } from '../flow/report.ts'
import type { Chance, Clock } from '../ports/clock.ts'
import type { KafkaCluster } from '../ports/kafka.ts'
import { type Chores, startChores } from './chores.ts'
import { type Reserved, reservedUnits } from './reserved.ts'
import { type Runner, startRunner } from './runner.ts'

/** One flow as it is declared. `deleting`: its units stop, and what is left to be done is done (C-90). */
export type FlowPlan = { kind: AnyKind; spec: unknown; overlay: Overlay; deleting?: boolean }

/** What all flows of a process share. */
export type SoloParts = {
  kafka(cluster: string): KafkaCluster
  clock: Clock
  chance: Chance
  codec: Codec
  crc: Crc
  /** Finish what is under way; wait no longer. */
  stop: AbortSignal
  abort: AbortSignal
  tell(flow: string, event: FlowEvent): void
  /** A flow ended with what it cannot go on with; the others go on. */
  broke(flow: string, error: unknown): void
  /** Of a flow that is asked to go nothing is left. */
  over?(flow: string): void
  /** Of this process (C-21); without one it is the first. */
  epoch?: number
  /** Each flow ends at the ends seen at its start; a unit that fails is not tried again. */
  untilEnd: boolean
}

export type SoloFlow = {
  readonly flow: string
  readonly kind: AnyKind
  readonly worker: FlowWorker
  view(): View<unknown> | null
  report(): FlowReport
  state(): {
    kind: AnyKind
    spec: unknown
    view: View<unknown> | null
    /** What its chores meet (C-94). */
    trouble: ReturnType<Chores['trouble']>
    /** Asked to go, and nothing is left. */
    over: boolean
    context: SteerContext
  }
  /** What may run by the last look, paused or not; null: nobody has looked yet. */
  units(): readonly UnitPlan[] | null
  /** What runs, waits for its next try, or has ended and not left. */
  running(): ReadonlySet<string>
  /** No action is begun under these units meanwhile, and none of them begins (C-95); rejects when one is not free. */
  reserving: Reserved['during']
  /** Takes a changed plan, and tries at once what waits (C-38); the caller has asked `refuses` and `restarts`. */
  change(plan: FlowPlan): void
  /** Stops its units, and waits until their checkpoints are stored. */
  end(): Promise<void>
  /** Its end reached, or ended. `whole`: all checkpoints are stored. Rejects with what it cannot go on with. */
  readonly done: Promise<{ whole: boolean }>
}

/** One flow on the one process there is: the leader's side and the worker's, with no plan and no lease (C-96). */
export function openSoloFlow(flow: string, first: FlowPlan, parts: SoloParts): SoloFlow {
  const { clock } = parts
  const { kind } = first
  const state: State = {
    ...{ plan: first, units: null, isGone: false, broken: null },
    ...{ ended: new AbortController(), over: Promise.withResolvers<void>() },
  }
  const stop = AbortSignal.any([parts.stop, state.ended.signal])
  stop.addEventListener('abort', () => state.over.resolve(), { once: true })
  const { worker, runner, chores, reserved, context } = startSides(flow, state, stop, parts)
  const again = () => {
    chores.again()
    runner.again()
  }
  const done = life()

  async function life(): Promise<{ whole: boolean }> {
    await state.over.promise
    // Ends the chores of a flow that has reached its end.
    state.ended.abort()
    await chores.done.catch(() => {})
    await runner.idle()
    const stored = await worker.close(parts.abort)
    if (state.broken) throw state.broken.error
    return { whole: stored && !parts.abort.aborted }
  }

  return {
    flow,
    kind,
    worker,
    view: chores.view,
    report: () => {
      const now = { nowMs: clock.nowMs(), wallMs: clock.wallMs() }
      return kind.report(state.plan.spec, chores.view(), worker, now)
    },
    state: () => ({
      ...{ kind, spec: state.plan.spec, view: chores.view(), trouble: chores.trouble(), over: state.isGone },
      context,
    }),
    units: () => state.units,
    running: runner.owned,
    reserving: reserved.during,
    change(next) {
      state.plan = next
      stopLeft(state, runner, chores.view())
      again()
    },
    async end() {
      state.ended.abort()
      await done.catch(() => {})
    },
    done,
  }
}

type State = {
  plan: FlowPlan
  units: readonly UnitPlan[] | null
  /** Asked to go, and nothing is left. */
  isGone: boolean
  /** What it cannot go on with. */
  broken: { error: unknown } | null
  ended: AbortController
  /** Its end is reached, or it is stopped. */
  over: PromiseWithResolvers<void>
}

type Sides = { worker: FlowWorker; runner: Runner; chores: Chores; reserved: Reserved; context: SteerContext }

function startSides(flow: string, state: State, stop: AbortSignal, parts: SoloParts): Sides {
  const { kafka, clock, chance, codec, crc, untilEnd, abort } = parts
  const { kind } = state.plan
  const fatal = (error: unknown) => {
    state.broken ??= { error }
    state.ended.abort()
  }
  const overlay = () => state.plan.overlay
  const tell = (event: FlowEvent) => parts.tell(flow, event)
  const shared = { flow, kafka, clock, chance, codec, crc, tell, untilEnd, mayWrite: () => !abort.aborted }
  const worker = kind.open(state.plan.spec, { ...shared, mayCommit: shared.mayWrite, overlay, fatal })
  const changed = () => chores.steer()
  const runner = startRunner({ worker, clock, chance, stop, abort, retry: !untilEnd, changed, fatal })
  const seen = (view: View<unknown>, units: readonly UnitPlan[]) => {
    const { spec, deleting } = state.plan
    state.units = units
    const owned = runner.owned()
    // Under the names of some an action may be writing (C-95): what runs stays, and no other begins.
    const mayBegin = (unit: string) => owned.has(unit) || !(chores.busy().has(unit) || reserved.units().has(unit))
    runner.set(deleting ? [] : units.filter(({ unit }) => !isPausedUnit(overlay(), unit) && mayBegin(unit)))
    const isOver = untilEnd && kind.pending(spec, view) === 0 && units.every(({ unit }) => runner.over(unit))
    if (isOver) state.over.resolve()
  }
  const context: SteerContext = { ...shared, epoch: parts.epoch ?? 1, signal: stop }
  const reserved = reservedUnits({
    flow,
    taken: () => [...runner.owned(), ...chores.busy()],
    changed: () => chores.look(),
  })
  const chores = startChores({
    ...{ kind, spec: () => state.plan.spec, overlay, ctx: context, seen },
    owned: () => new Set([...runner.owned(), ...reserved.units()]),
    deleting: () => state.plan.deleting ?? false,
    over() {
      if (!state.isGone) parts.over?.(flow)
      state.isGone = true
    },
  })
  chores.done.catch(fatal)
  return { worker, runner, chores, reserved, context }
}

/**
 * What is paused, or has left the flow by the last view, does not wait for a look or an action, which may take long
 * where a cluster is away. Nothing begins here: an action may be under its name (C-95).
 */
function stopLeft({ plan }: State, runner: Runner, view: View<unknown> | null): void {
  const { kind, spec, overlay, deleting } = plan
  const wanted = view === null ? null : unitsBy(kind, spec, view)
  const isWanted = (unit: string) => !deleting && !isPausedUnit(overlay, unit) && (wanted?.has(unit) ?? true)
  runner.set([...runner.owned()].filter(isWanted).map(unit => ({ unit, weight: 1 })))
}

/** Null when the kind cannot tell: the chores say so (C-94), and what runs goes on. */
function unitsBy(kind: AnyKind, spec: unknown, view: View<unknown>): ReadonlySet<string> | null {
  try {
    return new Set(kind.units(spec, view).map(({ unit }) => unit))
  } catch {
    return null
  }
}
