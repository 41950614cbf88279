import { type Fault, faultOf, MillraceError } from '../errors.ts'
import type { AnyKind, SteerContext, UnitPlan, View } from '../flow/contract.ts'
import type { FlowEvent } from '../flow/event.ts'
import { noOverlay, type Overlay } from '../flow/overlay.ts'
import { type Chores, startChores } from './chores.ts'
import { type FlowDoc, overlayOf, readFlow } from './decide/documents/flow.ts'
import { paths } from './decide/documents/paths.ts'
import type { PlannedUnit, SeenFlow } from './decide/observed.ts'
import type { KindEntry, Kinds } from './kinds.ts'
import { type Reserved, reservedUnits } from './reserved.ts'

export type LeaderFlowHow = {
  flow: string
  kinds: Kinds
  /** What every flow of this office is given; `signal` ends the office. */
  context: Omit<SteerContext, 'flow' | 'tell'>
  tell(event: FlowEvent): void
  /** Units of this flow, by their names in it, that are not free (C-95). */
  owned(): ReadonlySet<string>
  /** What may run is not what it was. */
  changed(): void
  fatal(error: unknown): void
}

export type LeaderFlow = {
  readonly flow: string
  /** Its document as it stands now. */
  take(text: string, tag: string): void
  /** The document of the flow is gone. */
  end(): void
  /** Chores may begin: it is known who owns what. */
  begin(): void
  /** Look again now: a unit has ended (C-45). */
  ended(): void
  seen(): SeenFlow
  state(): {
    doc: FlowDoc | null
    text: string | null
    tag: string
    kind: AnyKind | null
    spec: unknown
    /** Why its document cannot be taken. */
    fault: Fault | null
    /** What its chores meet (C-94). */
    trouble: { fault: Fault; nextMs: number } | null
    view: View<unknown> | null
    /** Asked to go, and nothing is left to be done. */
    over: boolean
    context: SteerContext
  }
  /** Its chores have ended. */
  idle(): Promise<void>
  /** While this runs no action is begun, and none of these units is given (C-95). */
  reserving: Reserved['during']
}

type State = {
  how: LeaderFlowHow
  tag: string
  /** Of the document that stands there, whether it can be taken or not. */
  readTag: string
  text: string | null
  doc: FlowDoc | null
  entry: KindEntry | null
  spec: unknown
  overlay: Overlay
  requires: readonly string[]
  fault: Fault | null
  /** By whole names; null: nobody has looked yet. */
  units: ReadonlyMap<string, PlannedUnit> | null
  looksBegun: number
  lookedAt: number
  /** The look that was shown last. */
  shownAt: number
  chores: { chores: Chores; ended: AbortController; context: SteerContext } | null
  begun: boolean
  over: boolean
  reserved: Reserved
}

/** The leader's side of one flow in a fleet: its document, and its chores (C-90). */
export function openLeaderFlow(how: LeaderFlowHow): LeaderFlow {
  const state: State = {
    ...{ how, tag: '', readTag: '', text: null, doc: null, entry: null, spec: null, overlay: noOverlay, requires: [] },
    ...{ fault: null, units: null, looksBegun: 0, lookedAt: 0, shownAt: 0, chores: null, begun: false, over: false },
    reserved: reservedUnits({
      flow: how.flow,
      taken: () => [...how.owned(), ...(state.chores?.chores.busy() ?? [])],
      changed() {
        // What stood in their way may be gone.
        state.chores?.chores.look()
        how.changed()
      },
    }),
  }
  return {
    flow: how.flow,
    take: (text, tag) => take(state, text, tag),
    end: () => state.chores?.ended.abort(),
    begin() {
      state.begun = true
      startSide(state)
    },
    ended: () => state.chores?.chores.look(),
    seen: () => seenOf(state),
    state: () => ({
      ...{ doc: state.doc, text: state.text, tag: state.tag, kind: state.entry?.kind ?? null, spec: state.spec },
      ...{
        fault: state.fault,
        trouble: state.chores?.chores.trouble() ?? null,
        view: state.chores?.chores.view() ?? null,
        over: state.over,
      },
      context: state.chores?.context ?? contextOf(state, how.context.signal),
    }),
    idle: async () => void (await state.chores?.chores.done.catch(() => {})),
    reserving: state.reserved.during,
  }
}

function take(state: State, text: string, tag: string): void {
  if (tag === state.readTag) return
  state.readTag = tag
  state.text = text
  const { how } = state
  try {
    accept(state, readFlow(text, paths.flow(how.flow)), tag)
    state.fault = null
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error
    // Its units stay as they are, and other flows go on (§10).
    state.fault = faultOf(error, error.code)
    how.tell({ ...state.fault, state: 'error' })
  }
  how.changed()
}

function accept(state: State, doc: FlowDoc, tag: string): void {
  const entry = Object.hasOwn(state.how.kinds, doc.kind) ? state.how.kinds[doc.kind] : undefined
  if (!entry) {
    const hint = 'bring this controller up to the version that the flow was declared with'
    throw new MillraceError('config-invalid', `${state.how.flow}: there is no kind '${doc.kind}'`, { hint })
  }
  const spec = entry.readSpec(doc.spec)
  const isSameKind = state.entry?.kind === entry.kind
  const refused = isSameKind && state.overlay.paused !== '*' ? entry.kind.refuses(state.spec, spec) : null
  if (refused) throw new MillraceError(refused.code, refused.message, { hint: refused.hint })
  if (!isSameKind) {
    state.chores?.ended.abort()
    Object.assign(state, { chores: null, units: null })
  }
  const isChanged = state.doc !== null
  Object.assign(state, { doc, tag, entry, spec, overlay: overlayOf(doc), requires: requiresIn(doc.spec) })
  if (state.chores && isChanged) state.chores.chores.again()
  startSide(state)
}

/** Tags stand beside the words of the kind (C-53). */
export function requiresIn(spec: FlowDoc['spec']): readonly string[] {
  const found = typeof spec === 'object' && spec !== null && 'requires' in spec ? spec['requires'] : []
  return Array.isArray(found) ? found.filter(tag => typeof tag === 'string') : []
}

function contextOf({ how }: State, signal: AbortSignal): SteerContext {
  return { ...how.context, flow: how.flow, tell: how.tell, signal }
}

function startSide(state: State): void {
  const { how, entry } = state
  if (!state.begun || state.chores !== null || entry === null) return
  const ended = new AbortController()
  const context = contextOf(state, AbortSignal.any([how.context.signal, ended.signal]))
  const chores = startChores({
    kind: countingLooks(state, entry.kind),
    spec: () => state.spec,
    overlay: () => state.overlay,
    owned: () => new Set([...how.owned(), ...state.reserved.units()]),
    ctx: context,
    seen: (_view, units) => show(state, units),
    deleting: () => state.doc?.deleting ?? false,
    over() {
      state.over = true
      how.changed()
    },
  })
  chores.done.catch(how.fatal)
  state.chores = { chores, ended, context }
}

/** A unit that has ended is given again only by a look that began after that (C-45). */
function countingLooks(state: State, kind: AnyKind): AnyKind {
  return {
    ...kind,
    async look(spec, ctx, before) {
      const number = ++state.looksBegun
      const found = await kind.look(spec, ctx, before)
      state.lookedAt = number
      return found
    },
  }
}

function show(state: State, units: readonly UnitPlan[]): void {
  const { flow } = state.how
  const before = state.units
  const now = new Map(
    units.map(({ unit, weight, movable = true, requires = [] }) => [`${flow}/${unit}`, { weight, movable, requires }]),
  )
  state.units = now
  const isSame = before !== null && before.size === now.size && [...now.keys()].every(unit => before.has(unit))
  // After a new look a unit that has ended may be given again.
  if (!isSame || state.lookedAt !== state.shownAt) state.how.changed()
  state.shownAt = state.lookedAt
}

function seenOf(state: State): SeenFlow {
  const { flow } = state.how
  const busy = [...(state.chores?.chores.busy() ?? []), ...state.reserved.units()]
  return {
    ...{ tag: state.tag, units: state.units, overlay: state.overlay, requires: state.requires },
    ...{ deleting: state.doc?.deleting ?? false, looksBegun: state.looksBegun, lookedAt: state.lookedAt },
    reserved: new Set(busy.map(unit => `${flow}/${unit}`)),
  }
}
