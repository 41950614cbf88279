import { type Fault, faultOf, MillraceError } from '../errors.ts'
import {
  type Action,
  type AnyKind,
  type Around,
  asideKey,
  type SteerContext,
  type UnitPlan,
  type View,
} from '../flow/contract.ts'
import type { FlowEvent } from '../flow/event.ts'
import type { Overlay } from '../flow/overlay.ts'
import { pause } from '../flow/pause.ts'
import { unlessAborted } from '../flow/unlessAborted.ts'
import { backOffMs, linkBackOff, saidAgainMs, steerMs, unitBackOff } from '../limits.ts'
import { type Aside, asideList } from './aside.ts'
import { deciderOf } from './decider.ts'
import { repeatsOf } from './repeats.ts'

export type Chores = {
  /** Ends with the signal of the context. */
  readonly done: Promise<void>
  /** Look again now, and try at once what is set aside: what people ask of the flow has changed (C-38). */
  again(): void
  /** Steer again now: a unit has ended. */
  steer(): void
  /** Look again now, and let wait what waits: a unit has ended in another process (C-91). */
  look(): void
  view(): View<unknown> | null
  /** Why it cannot be looked at, or what of its kind threw; tried again at that moment (C-94). */
  trouble(): { fault: Fault; nextMs: number } | null
  /** Units under whose names an action is writing now: none of them may begin (C-95). */
  busy(): ReadonlySet<string>
}

type Steered = {
  kind: AnyKind
  spec(): unknown
  overlay(): Overlay
  owned(): ReadonlySet<string>
  ctx: SteerContext
  seen(view: View<unknown>, units: readonly UnitPlan[]): void
  /** The flow is asked to go (C-90). */
  deleting?(): boolean
  /** Of a flow that is asked to go: nothing is left to be done, and no unit is owned. */
  over?(): void
}

/**
 * The leader's side of one flow (C-91): looks, has the kind say what is to be done, does the first of it, looks again.
 * `seen` is called with each new view and the units that may run by it. Units run beside it and never wait for it.
 */
export function startChores(how: Steered): Chores {
  const { kind, ctx } = how
  const { clock, signal, chance } = ctx
  const aside = asideList(chance)
  const doer = doerOf(how, aside)
  const decider = deciderOf(ctx)
  let look: { found: unknown } | null = null
  let wake = new AbortController()
  let lookNow = false
  const unseen = unseenOf(ctx)
  const sayOnce = once(ctx)
  const view = () => (look === null ? null : viewOf(look.found, how, aside))

  async function lookOnce(): Promise<boolean> {
    lookNow = false
    const seen = await looked(how, look?.found ?? null, error => unseen.say(error, look !== null))
    look = seen ?? look
    return seen !== null
  }

  /** Units that cannot be told go on as they are (C-94). */
  function show(now: View<unknown>): void {
    const units = decider.ask('units', () => kind.units(how.spec(), now))
    if (units) how.seen(now, units.said)
  }

  /** True: something was done, so look again. */
  async function act(): Promise<boolean> {
    const before = view()
    if (before === null) return false
    show(before)
    sayOnce(decider.ask('stands', () => kind.stands(how.spec(), before))?.said ?? null)
    // What has just begun is owned now, and no action may be under its name (C-95).
    const now = viewOf(look?.found, how, aside)
    const steered = decider.ask('steer', () => kind.steer(how.spec(), now))
    const action = steered && firstOf(steered.said, now, how, doer)
    if (action) await doer.begin(action, now)
    return action != null
  }

  function lookAgain(): void {
    lookNow = true
    wake.abort()
  }

  async function rounds(): Promise<void> {
    for (let failed = 0; !signal.aborted; ) {
      failed = (await lookOnce()) ? 0 : failed + 1
      let untilMs = clock.nowMs() + kind.lookMs(how.spec())
      if (failed > 0) untilMs = Math.min(untilMs, clock.nowMs() + unseen.waitMs(failed))
      while (!signal.aborted && !lookNow && clock.nowMs() < untilMs) {
        wake = new AbortController()
        const now = view()
        if (failed === 0 && (await act())) break
        if (failed > 0 && now !== null) show(now)
        const ms = Math.min(steerMs, Math.max(1, untilMs - clock.nowMs()))
        if (!lookNow) await pause(clock, ms, AbortSignal.any([signal, wake.signal]))
      }
    }
  }

  return {
    done: rounds(),
    again() {
      aside.clear()
      doer.again()
      decider.again()
      lookAgain()
    },
    steer: () => wake.abort(),
    look: lookAgain,
    view,
    trouble: () => unseen.trouble() ?? decider.trouble(),
    busy: doer.busy,
  }
}

/** Null: it could not be seen; the last view stays (C-94). */
async function looked(
  { kind, spec, overlay, ctx }: Steered,
  before: unknown,
  say: (error: MillraceError | null) => void,
): Promise<{ found: unknown } | null> {
  try {
    const found = await unlessAborted(kind.look(spec(), { ...ctx, overlay: overlay() }, before), ctx.signal)
    if (ctx.signal.aborted) return null
    say(null)
    return { found }
  } catch (error) {
    if (ctx.signal.aborted) return null
    if (!(error instanceof MillraceError)) throw error
    say(error)
    return null
  }
}

/** The most urgent that may begin; with nothing left to do a flow that is asked to go is over (C-90). */
function firstOf(said: readonly Action[], now: View<unknown>, how: Steered, doer: Doer): Action | undefined {
  const todo = said.filter(one => one.do !== 'end')
  if (now.deleting && todo.length === 0 && now.owned.size === 0) how.over?.()
  return todo.find(one => doer.mayBegin(one, now))
}

type Doer = {
  /** It does not wait for its next try, and all units it names are free (C-95). */
  mayBegin(action: Action, view: View<unknown>): boolean
  /** Until it is done or set aside. */
  begin(action: Action, view: View<unknown>): Promise<void>
  busy(): ReadonlySet<string>
  /** What waits because it had no effect may begin at once. */
  again(): void
}

function doerOf(how: Steered, aside: Aside): Doer {
  const { clock, chance, signal } = how.ctx
  const repeats = repeatsOf(chance)
  const none: ReadonlySet<string> = new Set()
  let busy = none
  return {
    mayBegin: (action, { nowMs, owned }) =>
      aside.isDue(action.do, nowMs) &&
      repeats.isDue(action, nowMs) &&
      !(action.units ?? []).some(unit => owned.has(unit)),
    async begin(action, view) {
      busy = new Set(action.units)
      if (await perform(action, view, how, aside)) repeats.done(action, clock.nowMs())
      // Cut short by the end of these chores it may still be under way: then they give nothing any more.
      if (!signal.aborted) busy = none
    },
    busy: () => busy,
    again: repeats.clear,
  }
}

function viewOf(found: unknown, { ctx, overlay, owned, deleting }: Steered, aside: Aside): View<unknown> {
  const { flow, clock, epoch } = ctx
  const nowMs = clock.nowMs()
  const around: Around = {
    flow,
    nowMs,
    wallMs: clock.wallMs(),
    epoch,
    overlay: overlay(),
    deleting: deleting?.() ?? false,
    owned: owned(),
    aside: aside.faults(nowMs),
  }
  return { ...(found as object), ...around } as View<unknown>
}

/** True: all of it was done. What was not is set aside. */
async function perform(
  action: Action,
  view: View<unknown>,
  { kind, spec, ctx }: Steered,
  aside: Aside,
): Promise<boolean> {
  const setAside = (key: string, error: MillraceError) => {
    if (aside.put(key, error, ctx.clock.nowMs())) ctx.tell(faultOf(error, error.code))
  }
  try {
    const undone = await unlessAborted(kind.perform(action, spec(), view, ctx), ctx.signal)
    if (undone === null) return false
    const items = undone.map(({ item }) => item)
    aside.done(action.do, items, view.nowMs)
    for (const { item, error } of undone) setAside(asideKey(action.do, item), error)
    return undone.length === 0
  } catch (error) {
    if (ctx.signal.aborted) return false
    if (!(error instanceof MillraceError)) throw error
    setAside(asideKey(action.do), error)
    return false
  }
}

/**
 * Says that a cluster cannot be looked at: at once while nothing has been seen of it, and each minute. Later the units
 * say first what they meet themselves. `waitMs`: until the look after so many that failed; what somebody has to mend,
 * such as a refused login, is asked less often (K-58).
 */
function unseenOf({ clock, chance, tell }: SteerContext): {
  say(error: MillraceError | null, seen: boolean): void
  waitMs(failed: number): number
  trouble(): { fault: Fault; nextMs: number } | null
} {
  let nextMs: number | null = null
  let trouble: { fault: Fault; nextMs: number } | null = null
  let curve = linkBackOff
  return {
    say(error, seen) {
      if (error === null) {
        nextMs = null
        trouble = null
        return
      }
      curve = error.retryable ? linkBackOff : unitBackOff
      const nowMs = clock.nowMs()
      trouble = { fault: faultOf(error, error.code), nextMs: nowMs }
      nextMs ??= seen ? nowMs + saidAgainMs : nowMs
      if (nowMs < nextMs) return
      nextMs = nowMs + saidAgainMs
      tell({ code: error.code, message: error.message, hint: error.hint, state: 'unavailable' })
    },
    waitMs(failed) {
      const ms = backOffMs(curve, failed, chance)
      if (trouble) trouble.nextMs = clock.nowMs() + ms
      return ms
    },
    trouble: () => trouble,
  }
}

/** Says what was not there the last time; what has gone is said again when it is back. Null = not known this time. */
function once(ctx: SteerContext): (events: FlowEvent[] | null) => void {
  let known = new Set<string>()
  return events => {
    if (events === null) return
    const found = new Map(events.map(event => [`${event.code} ${event.message}`, event]))
    for (const [key, event] of found) if (!known.has(key)) ctx.tell(event)
    known = new Set(found.keys())
  }
}
