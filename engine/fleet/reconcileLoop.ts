import { faultOf, MillraceError } from '../errors.ts'
import type { FlowEvent } from '../flow/event.ts'
import { pause } from '../flow/pause.ts'
import { rereadMs, roundEveryMs, saidAgainMs } from '../limits.ts'
import type { Clock } from '../ports/clock.ts'
import { paths } from './decide/documents/paths.ts'
import type { StatsDoc, UnitStats } from './decide/documents/stats.ts'
import { writeWishes } from './decide/documents/wishes.ts'
import { leaseTimes } from './decide/lease.ts'
import { type Memory, newMemory } from './decide/memory.ts'
import { type Multi, multisOf } from './decide/multis.ts'
import { flowOf, type Observed, type SeenFlow } from './decide/observed.ts'
import { type Notice, type Reconciled, reconcile } from './decide/reconcile.ts'
import { type UnitWeights, unitWeights } from './decide/unitWeights.ts'
import type { Writes } from './decide/writesOf.ts'
import { type Observation, startObservation } from './observation.ts'
import type { Office } from './office.ts'

/** What the loop needs of the flows. */
export type LoopFlows = {
  /** Reads their documents: all, or those that were hinted at. */
  read(all: boolean): Promise<void>
  seen(): ReadonlyMap<string, SeenFlow>
  /** A round has decided: what it says of owners holds from this turn on (C-95). */
  decided(found: Reconciled): void
  /** These have ended by themselves (C-45). */
  ended(units: readonly string[]): void
}

export type LoopHow = {
  office: Office
  clock: Clock
  flows: LoopFlows
  /** Told when it stands, not before. */
  notice(notice: Notice): void
  tell(event: FlowEvent): void
  /** After each round has thought, before it writes. */
  thought(found: Reconciled, ms: number): void
  /** After each round that was made as a whole; the export is written beside it (C-104). */
  settled(observation: Observation): void
}

export type ReconcileLoop = {
  /** Ends with the office, or before it when a worker knows a higher epoch (C-21). */
  readonly done: Promise<void>
  /** Something may have changed: look now. */
  nudge(): void
  readonly observation: Observation
  memory(): Memory
  /** Null: there was no round yet. */
  last(): Reconciled | null
  /** What its owner has measured of it last (C-30); null: not known. */
  measured(unit: string): UnitStats | null
  /** What a round would do now; nothing is remembered or written. */
  preview(): Reconciled
  readonly weights: UnitWeights
  counts: LoopCounts
}

export type LoopCounts = { rounds: number; writes: number; unknown: number }

type State = LoopHow & {
  observation: Observation
  weights: UnitWeights
  memory: Memory
  last: Reconciled | null
  /** Documents of a write that was not answered. */
  doubtful: Set<string>
  /** All is to be read again. */
  stale: boolean
  rereadAtMs: number
  wanted: boolean
  wake: AbortController
  counts: LoopCounts
  saidMs: number
}

/** Observe all, plan, write, again (C-40): one round at a time, on levels; hints only say when. */
export function startReconcileLoop(how: LoopHow): ReconcileLoop {
  const { office, clock } = how
  const weights = unitWeights()
  const measured = new Map<string, StatsDoc>()
  const nudge = () => {
    state.wanted = true
    state.wake.abort()
  }
  const observation = startObservation({
    ...{ coordinator: office.coordinator, clock, signal: office.signal, hint: nudge, tell: how.tell },
    stats(id, doc) {
      // What was not measured anew says nothing new.
      if (measured.get(id)?.atMs === doc.atMs) return
      weights.learn(id, doc, clock.nowMs())
      measured.set(id, doc)
      for (const known of measured.keys()) if (!observation.workers.has(known)) measured.delete(known)
    },
  })
  const state: State = {
    ...{ ...how, observation, weights, last: null, doubtful: new Set(), stale: true, rereadAtMs: 0, wanted: true },
    ...{ memory: newMemory(office.epoch, clock.nowMs()), wake: new AbortController() },
    ...{ counts: { rounds: 0, writes: 0, unknown: 0 }, saidMs: Number.NEGATIVE_INFINITY },
  }
  return {
    done: live(state),
    nudge,
    observation,
    weights,
    memory: () => state.memory,
    last: () => state.last,
    measured(unit) {
      const owner = state.last?.owners.get(unit)
      return (owner === undefined ? undefined : measured.get(owner)?.of.get(unit)) ?? null
    },
    preview: () => reconcile(state.memory, observedOf(state), clock.nowMs()),
    counts: state.counts,
  }
}

async function live(state: State): Promise<void> {
  const { clock, office } = state
  const { lookMs } = leaseTimes(office.sessionMs)
  let roundMs = Number.NEGATIVE_INFINITY
  while (!office.signal.aborted) {
    try {
      if (isDue(state)) {
        roundMs = clock.nowMs()
        if (await round(state)) return
      } else if (await state.observation.look(awaited(state))) state.wanted = true
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error
      trouble(state, error)
      if (error.code !== 'outcome-unknown') await pause(clock, lookMs, office.signal)
    }
    await wait(state, roundMs, lookMs)
  }
}

function isDue({ wanted, stale, clock, rereadAtMs, last }: State): boolean {
  const nowMs = clock.nowMs()
  return wanted || stale || nowMs >= rereadAtMs || last === null || nowMs >= last.againAtMs
}

/** Until something is hinted at or due, or the next look; rounds begin 100 ms apart at least. */
async function wait(state: State, roundMs: number, lookMs: number): Promise<void> {
  const { clock, office } = state
  state.wake = new AbortController()
  const nowMs = clock.nowMs()
  if (!state.wanted && !state.stale) {
    const dueMs = Math.min(state.rereadAtMs, state.last?.againAtMs ?? nowMs) - nowMs
    await pause(clock, Math.max(0, Math.min(lookMs, dueMs)), AbortSignal.any([office.signal, state.wake.signal]))
  }
  if (state.wanted || state.stale)
    await pause(clock, Math.max(0, roundMs + roundEveryMs - clock.nowMs()), office.signal)
}

/** Workers whose report the next round waits for. */
function awaited({ last, memory }: State): Set<string> {
  const ids = new Set(last?.waiting.values())
  for (const [id, { adopted, held }] of memory.workers)
    if (adopted !== null && held?.state !== 'left' && held?.epoch !== memory.epoch) ids.add(id)
  return ids
}

/** True: this leader is behind, and leaves (C-21). */
async function round(state: State): Promise<boolean> {
  const { observation, clock, flows, office, doubtful } = state
  state.wanted = false
  const all = state.stale || clock.nowMs() >= state.rereadAtMs
  await flows.read(all)
  if (all) await observation.all()
  else await observation.fresh(awaited(state))
  if (doubtful.size > 0) await observation.doubt(doubtful)
  if (office.signal.aborted) return false
  if (all) Object.assign(state, { stale: false, rereadAtMs: clock.nowMs() + rereadMs })
  const isFirst = state.last === null
  const startMs = clock.nowMs()
  const found = reconcile(state.memory, observedOf(state), startMs)
  state.memory = found.memory
  state.last = found
  state.counts.rounds++
  state.thought(found, clock.nowMs() - startMs)
  if (found.behind !== null) {
    const message = `${found.behind} has a document of a higher epoch than ${office.epoch}: office is taken anew (C-21)`
    state.tell({ code: 'deposed', message })
    return true
  }
  flows.decided(found)
  if (all) forgetUnits(state, found)
  if (isFirst) await cleanChunks(state)
  if (found.writes === null || (await write(state, found.writes))) {
    for (const notice of found.notices) told(state, notice)
    state.settled(observation)
  } else for (const notice of found.notices) if (notice.code === 'release-slow') state.notice(notice)
  return false
}

/** Units that have left for good are weighed no more. */
function forgetUnits({ weights, flows }: State, { owners }: Reconciled): void {
  const seen = flows.seen()
  weights.keep(unit => owners.has(unit) || (seen.get(flowOf(unit))?.units?.has(unit) ?? false))
}

function told(state: State, notice: Notice): void {
  state.notice(notice)
  if (notice.code === 'units-moved' && notice.reason === 'ended') state.flows.ended(notice.units)
}

function observedOf(state: State): Observed {
  const { observation, flows, office, weights, clock, doubtful } = state
  const { workers, assignments, helds } = observation
  return {
    ...{ workers, assignments, helds, doubtful },
    wishes: observation.wishes().doc,
    flows: flows.seen(),
    weightOf: weights.weightOf,
    stuck: weights.stuck(clock.nowMs()),
    answeredSinceMs: office.answeredSinceMs(),
    sessionMs: office.sessionMs,
  }
}

/** True: all of it stands. What does not is read again and planned again, never repeated blindly (C-22). */
async function write(state: State, writes: Writes): Promise<boolean> {
  const { clock, doubtful } = state
  const isRewrite = doubtful.size > 0
  for (const multi of multisOf(writes, clock.wallMs())) {
    if (!(await writeOne(state, multi, writes))) return false
  }
  if (isRewrite) {
    doubtful.clear()
    state.wanted = true
  }
  if (writes.wishes) await writeWished(state, writes.wishes)
  for (const id of writes.garbage) await forget(state, id)
  return true
}

async function writeOne(state: State, multi: Multi, writes: Writes): Promise<boolean> {
  const { office, observation, doubtful } = state
  // A reason to read all again, until it is known that it stands.
  const wasStale = state.stale
  state.stale = !multi.isCleaning || wasStale
  // Asked in the turn of the write: at our fence another may be in office (C-22).
  if (!office.mayWrite()) return false
  try {
    const written = await office.write(multi.ops)
    if (!written.done) return multi.isCleaning
    observation.wrote(multi, writes, written.versions)
    state.counts.writes++
    state.stale = wasStale
    if (multi.takeovers.length + multi.ejects.length > 0) state.wanted = true
    return true
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error
    if (error.code === 'outcome-unknown' || error.code === 'session-lost') {
      state.counts.unknown++
      for (const { id } of multi.assignments) doubtful.add(id)
    }
    throw error
  }
}

/** What leaders before this one left half done below their documents (C-32). */
async function cleanChunks({ office, observation }: State): Promise<void> {
  for (const path of await observation.strayChunks())
    if (office.mayWrite()) await office.write([{ do: 'remove', path, version: null }])
}

/** People write there too: what has changed meanwhile is read, and cleaned by the next round. */
async function writeWished({ office, observation }: State, doc: Parameters<typeof writeWishes>[0]): Promise<void> {
  const { version } = observation.wishes()
  if (version === null) return
  observation.wished()
  await office.write([{ do: 'set', path: paths.wishes, data: writeWishes(doc), version }])
}

/** Children first, and what it is known by last; what is not there any more is as good. */
async function forget({ office, observation }: State, id: string): Promise<void> {
  for (const path of [paths.stats(id), paths.assignment(id), paths.held(id)]) {
    for (const name of await office.coordinator.children(path))
      await office.write([{ do: 'remove', path: `${path}/${name}`, version: null }])
    await office.write([{ do: 'remove', path, version: null }])
  }
  observation.forget(id)
}

/** What goes on is said once a minute; what ends the office says so itself. */
function trouble(state: State, error: MillraceError): void {
  state.stale = true
  const nowMs = state.clock.nowMs()
  const isOver = error.code === 'deposed' || error.code === 'session-lost'
  if (isOver || error.code === 'outcome-unknown' || nowMs < state.saidMs + saidAgainMs) return
  state.saidMs = nowMs
  state.tell(faultOf(error, error.code))
}
