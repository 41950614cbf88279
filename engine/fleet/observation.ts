import { faultOf, MillraceError } from '../errors.ts'
import type { FlowEvent } from '../flow/event.ts'
import type { Clock } from '../ports/clock.ts'
import type { Coordinator, Node } from '../ports/coordinator.ts'
import type { Generation } from './decide/assignment.ts'
import { type AssignmentDoc, readAssignment } from './decide/documents/assignment.ts'
import { type HeldDoc, readHeld } from './decide/documents/held.ts'
import { chunkName, paths } from './decide/documents/paths.ts'
import { readStats, type StatsDoc } from './decide/documents/stats.ts'
import { noWishes, readWishes, type WishesDoc } from './decide/documents/wishes.ts'
import { readWorker } from './decide/documents/worker.ts'
import type { Multi } from './decide/multis.ts'
import type { Assigned, Held, SeenDoc, SeenWorker } from './decide/observed.ts'
import { namesOf } from './decide/units.ts'
import type { Writes } from './decide/writesOf.ts'
import { readWhole } from './wholeDocument.ts'

/** What the leader has read of the documents of its workers, and of the wishes (C-40). */
export type Observation = {
  readonly workers: ReadonlyMap<string, SeenWorker>
  readonly assignments: ReadonlyMap<string, SeenDoc<Assigned>>
  readonly helds: ReadonlyMap<string, SeenDoc<Held>>
  wishes(): { doc: WishesDoc; version: number | null; text: string | null }
  /** Everything, whatever was hinted. */
  all(): Promise<void>
  /** The workers that are there, and of the rest what was hinted at. `awaited`: workers whose report is waited for. */
  fresh(awaited: Iterable<string>): Promise<void>
  /** The beats, and the reports that are waited for (C-40). True: more has changed than versions. */
  look(awaited: Iterable<string>): Promise<boolean>
  /** These documents are not as we know them. */
  doubt(ids: Iterable<string>): Promise<void>
  /** The wishes are being written: they are read again. */
  wished(): void
  /** What stands now, after a write of ours. */
  wrote(multi: Multi, writes: Writes, versions: readonly number[]): void
  forget(id: string): void
  /** Chunks below a document that its head does not name. */
  strayChunks(): Promise<string[]>
}

export type ObservationHow = {
  coordinator: Coordinator
  clock: Clock
  signal: AbortSignal
  /** Something may have changed. */
  hint(): void
  stats(id: string, doc: StatsDoc): void
  tell(event: FlowEvent): void
}

type State = {
  how: ObservationHow
  workers: Map<string, SeenWorker & { tag: string }>
  assignments: Map<string, SeenDoc<Assigned>>
  helds: Map<string, SeenDoc<Held> & { tag: string }>
  wishes: { doc: WishesDoc; version: number | null; text: string | null }
  /** Ids whose report is to be read, and `wishes`. */
  dirty: Set<string>
  watched: Map<string, AbortController>
  said: Map<string, string>
}

export function startObservation(how: ObservationHow): Observation {
  const wishes = { doc: noWishes, version: null, text: null }
  const state: State = {
    ...{ how, wishes },
    ...{ workers: new Map(), assignments: new Map(), helds: new Map(), dirty: new Set<string>() },
    ...{ watched: new Map(), said: new Map() },
  }
  const { coordinator, signal } = how
  coordinator.watch(paths.workers, 'children', how.hint, signal)
  watch(state, paths.wishes, () => state.dirty.add(paths.wishes), signal)
  return {
    workers: state.workers,
    assignments: state.assignments,
    helds: state.helds,
    wishes: () => state.wishes,
    all: () => readAll(state),
    async fresh(awaited) {
      await readWorkers(state, await coordinator.children(paths.workers))
      const ids = [...state.workers.keys()].filter(id => !state.helds.has(id))
      await readHelds(state, [...state.dirty, ...awaited, ...ids])
      if (state.dirty.has(paths.wishes)) await readWished(state)
    },
    async look(awaited) {
      const ids = [...state.workers.keys()]
      const changed = await readWorkers(state, ids)
      return (await readHelds(state, awaited)) || changed
    },
    doubt: async ids => void (await Promise.all([...ids].map(id => readAssigned(state, id)))),
    wished: () => void state.dirty.add(paths.wishes),
    wrote: (multi, writes, versions) => wrote(state, multi, writes, versions),
    forget(id) {
      state.assignments.delete(id)
      state.helds.delete(id)
      state.watched.get(id)?.abort()
      state.watched.delete(id)
    },
    strayChunks: () => strayChunks(state),
  }
}

function watch({ how }: State, path: string, mark: () => void, signal: AbortSignal): void {
  const hinted = () => {
    mark()
    how.hint()
  }
  how.coordinator.watch(path, 'data', hinted, signal)
}

async function readAll(state: State): Promise<void> {
  const { coordinator } = state.how
  const [workers, assigned, helds, stats] = await Promise.all(
    [paths.workers, paths.assignments, paths.helds, paths.statistics].map(path => coordinator.children(path)),
  )
  // Workers first: a report read after the node is not older than it (C-12).
  await readWorkers(state, workers ?? [])
  await readHelds(state, new Set([...(helds ?? []), ...state.helds.keys(), ...state.workers.keys()]))
  const ids = new Set([...(assigned ?? []), ...state.assignments.keys()])
  await Promise.all([...ids].map(id => readAssigned(state, id)))
  await readWished(state)
  await Promise.all((stats ?? []).map(id => readMeasured(state, id)))
}

/** True: one came, went, or says something else than before. */
async function readWorkers(state: State, ids: readonly string[]): Promise<boolean> {
  const { coordinator, clock } = state.how
  let changed = false
  for (const id of state.workers.keys()) {
    if (ids.includes(id)) continue
    state.workers.delete(id)
    changed = true
  }
  await Promise.all(
    ids.map(async id => {
      const node = await coordinator.read(paths.worker(id))
      const before = state.workers.get(id)
      if (node === null) {
        if (state.workers.delete(id)) changed = true
        return
      }
      if (before?.created === node.created && before.version === node.version) return
      const doc = parsed(state, paths.worker(id), () => readWorker(node.data, paths.worker(id)))
      const isSame = before?.created === node.created && JSON.stringify(before.doc) === JSON.stringify(doc)
      changed ||= !isSame
      if (before?.created !== node.created) state.dirty.add(id)
      const { version, created, tag } = node
      state.workers.set(id, { version, created, tag, doc, atMs: clock.nowMs() })
    }),
  )
  return changed
}

async function readHelds(state: State, ids: Iterable<string>): Promise<boolean> {
  let changed = false
  const asked = [...new Set(ids)].filter(id => id !== paths.wishes)
  await Promise.all(
    asked.map(async id => {
      const path = paths.held(id)
      if (!state.watched.has(id)) {
        const ended = new AbortController()
        state.watched.set(id, ended)
        watch(state, path, () => state.dirty.add(id), AbortSignal.any([state.how.signal, ended.signal]))
      }
      state.dirty.delete(id)
      try {
        changed = (await readHeldOf(state, id, path)) || changed
      } catch (error) {
        state.dirty.add(id)
        throw error
      }
    }),
  )
  return changed
}

async function readHeldOf(state: State, id: string, path: string): Promise<boolean> {
  const { coordinator } = state.how
  const node = await coordinator.read(path)
  if (node === null) return state.helds.delete(id)
  if (state.helds.get(id)?.tag === node.tag) return false
  const found = await whole(state, path, node, text => readHeld(text, path))
  const doc = found?.doc ? { ...found.doc, units: new Set(namesOf(found.doc.units)), errors: found.doc.errors } : null
  state.helds.set(id, { version: found?.node.version ?? node.version, tag: found?.node.tag ?? node.tag, doc })
  return true
}

async function readAssigned(state: State, id: string): Promise<void> {
  const path = paths.assignment(id)
  const node = await state.how.coordinator.read(path)
  if (node === null) {
    state.assignments.delete(id)
    return
  }
  const found = await whole(state, path, node, text => readAssignment(text, path))
  const doc = found?.doc ? { ...found.doc, units: new Set(namesOf(found.doc.units)) } : null
  state.assignments.set(id, { version: found?.node.version ?? node.version, doc })
}

/** Null: it cannot be read; that is told, and nothing of it is taken for granted (§10). */
async function whole<Doc extends AssignmentDoc | HeldDoc>(
  state: State,
  path: string,
  first: Node,
  parse: (text: string) => Doc,
): Promise<{ doc: Doc; node: Node } | null> {
  try {
    const chunkPath = (at: Generation, chunk: number) => `${path}/${chunkName(at, chunk)}`
    const found = await readWhole(state.how.coordinator, path, { parse, chunkPath, first })
    state.said.delete(path)
    return found
  } catch (error) {
    return unreadable(state, path, error)
  }
}

function parsed<T>(state: State, path: string, read: () => T): T | null {
  try {
    const doc = read()
    state.said.delete(path)
    return doc
  } catch (error) {
    return unreadable(state, path, error)
  }
}

function unreadable({ said, how }: State, path: string, error: unknown): null {
  if (!(error instanceof MillraceError) || !error.code.startsWith('state-')) throw error
  if (said.get(path) !== error.message) how.tell(faultOf(error, error.code))
  said.set(path, error.message)
  return null
}

/** What cannot be read changes nothing: the last good ones stand. */
async function readWished(state: State): Promise<void> {
  state.dirty.delete(paths.wishes)
  let node: Node | null = null
  try {
    node = await state.how.coordinator.read(paths.wishes)
  } catch (error) {
    state.dirty.add(paths.wishes)
    throw error
  }
  if (node === null) {
    state.wishes = { doc: noWishes, version: null, text: null }
    return
  }
  const { data, version } = node
  const doc = parsed(state, paths.wishes, () => readWishes(data, paths.wishes))
  // A version that is none of ours: nothing is written over what we cannot read.
  state.wishes = doc ? { doc, version, text: data } : { ...state.wishes, version: null }
}

async function readMeasured(state: State, id: string): Promise<void> {
  const path = paths.stats(id)
  const node = await state.how.coordinator.read(path)
  const doc = node === null ? null : parsed(state, path, () => readStats(node.data, path))
  if (doc && state.workers.has(id)) state.how.stats(id, doc)
}

function wrote(state: State, multi: Multi, { epoch, generation }: Writes, versions: readonly number[]): void {
  for (const { id, units, specs, chunks } of multi.assignments) {
    const at = multi.ops.findIndex(op => op.path === paths.assignment(id))
    state.assignments.set(id, { version: versions[at] ?? 0, doc: { epoch, generation, units, specs, chunks } })
  }
  for (const id of [...multi.takeovers, ...multi.ejects]) {
    state.workers.delete(id)
    state.dirty.add(id)
  }
}

async function strayChunks(state: State): Promise<string[]> {
  const { coordinator } = state.how
  const found = await Promise.all(
    [...state.assignments].map(async ([id, { doc }]) => {
      if (doc === null) return []
      const names = await coordinator.children(paths.assignment(id))
      const good = new Set(Array.from({ length: doc.chunks }, (_, chunk) => chunkName(doc, chunk)))
      return names.filter(name => !good.has(name)).map(name => `${paths.assignment(id)}/${name}`)
    }),
  )
  return found.flat()
}
