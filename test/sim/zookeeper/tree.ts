import type { Node, Op, Refused } from '../../../engine/ports/coordinator.ts'

/** Never changed: members that lag share them. `sequence` counts what was made below. */
export type Entry = Node & { sequence: number }
export type Change = { path: string; entry: Entry | null; was: 'made' | 'set' | 'gone' | 'counted' }
export type Applied =
  | { done: true; changes: Change[]; paths: string[]; versions: number[] }
  | { done: false; refused: Refused }

/** What one member has: it goes from change to change, in the order of the leader. */
export type Tree = {
  get(path: string): Entry | null
  children(path: string): string[]
  /** What the operations would change; nothing is changed. */
  apply(ops: readonly Op[], how: { session: string; zxid: number }): Applied
  take(changes: readonly Change[]): void
  /** The ephemeral documents of a session. */
  ownedBy(session: string): string[]
}

export function makeTree(): Tree {
  const entries = new Map<string, Entry>([['/', entryOf('', '0', null)]])
  const below = new Map<string, Set<string>>()
  const owned = new Map<string, Set<string>>()

  function take(changes: readonly Change[]): void {
    for (const { path, entry, was } of changes) {
      if (was === 'made') note(below, parentOf(path), nameOf(path), true)
      if (was === 'gone') note(below, parentOf(path), nameOf(path), false)
      const owner = entry?.owner ?? entries.get(path)?.owner ?? null
      if (owner !== null && was !== 'set') note(owned, owner, path, was === 'made')
      if (entry) entries.set(path, entry)
      else entries.delete(path)
    }
  }

  function apply(ops: readonly Op[], how: { session: string; zxid: number }): Applied {
    const draft = new Map<string, Entry | null>()
    const step = { ...how, changes: [] as Change[], get: (path: string) => got(draft, path), count: childCount }
    const paths: string[] = []
    const versions: number[] = []
    function childCount(path: string): number {
      let count = below.get(path)?.size ?? 0
      for (const [one, entry] of draft) {
        if (one === '/' || parentOf(one) !== path) continue
        count += Number(entry !== null) - Number(entries.has(one))
      }
      return count
    }
    for (const [index, op] of ops.entries()) {
      const from = step.changes.length
      const done = applyOne(step, op)
      if ('why' in done) return { done: false, refused: { index, why: done.why } }
      for (const change of step.changes.slice(from)) draft.set(change.path, change.entry)
      paths.push(done.path)
      versions.push(done.version)
    }
    return { done: true, changes: step.changes, paths, versions }
  }

  function got(draft: ReadonlyMap<string, Entry | null>, path: string): Entry | null {
    const found = draft.get(path)
    return found === undefined ? (entries.get(path) ?? null) : found
  }

  return {
    get: path => entries.get(path) ?? null,
    children: path => [...(below.get(path) ?? [])],
    apply,
    take,
    ownedBy: session => [...(owned.get(session) ?? [])],
  }
}

type Step = {
  session: string
  zxid: number
  changes: Change[]
  get(path: string): Entry | null
  count(path: string): number
}
type Done = { path: string; version: number } | Pick<Refused, 'why'>

function applyOne(step: Step, op: Op): Done {
  if (op.do === 'create') return create(step, op)
  const entry = step.get(op.path)
  if (!entry) return { why: 'missing' }
  if (op.version !== null && op.version !== entry.version) return { why: 'changed' }
  if (op.do === 'check') return { path: op.path, version: entry.version }
  if (op.do === 'set') {
    const next = { ...entry, data: op.data, version: entry.version + 1, tag: String(step.zxid) }
    step.changes.push({ path: op.path, entry: next, was: 'set' })
    return { path: op.path, version: next.version }
  }
  if (step.count(op.path) > 0) return { why: 'not-empty' }
  step.changes.push({ path: op.path, entry: null, was: 'gone' })
  return { path: op.path, version: entry.version }
}

function create(step: Step, op: Op & { do: 'create' }): Done {
  const parentPath = parentOf(op.path)
  const parent = step.get(parentPath)
  // Nothing hangs below what goes with a session.
  if (!parent || parent.owner !== null) return { why: 'missing' }
  const path = op.mode === 'sequential' ? `${op.path}${String(parent.sequence).padStart(10, '0')}` : op.path
  if (step.get(path)) return { why: 'exists' }
  step.changes.push({ path: parentPath, entry: { ...parent, sequence: parent.sequence + 1 }, was: 'counted' })
  const entry = entryOf(op.data, String(step.zxid), op.mode === 'persistent' ? null : step.session)
  step.changes.push({ path, entry, was: 'made' })
  return { path, version: 0 }
}

function entryOf(data: string, tag: string, owner: string | null): Entry {
  return { data, version: 0, tag, created: tag, owner, sequence: 0 }
}

function note(sets: Map<string, Set<string>>, key: string, one: string, isIn: boolean): void {
  const set = sets.get(key) ?? new Set()
  sets.set(key, set)
  if (isIn) set.add(one)
  else set.delete(one)
}

export function parentOf(path: string): string {
  return path.slice(0, Math.max(1, path.lastIndexOf('/')))
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}
