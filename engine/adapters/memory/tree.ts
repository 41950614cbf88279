import type { Node, Op, Refused, Written } from '../../ports/coordinator.ts'

type Entry = Node & { sequence: number }
export type Change = { path: string; kind: 'data' | 'children' }

/** What is in the map is never changed, only replaced: a snapshot costs nothing. */
type Entries = Map<string, Entry>

/** The documents of a fleet in one process: what ZooKeeper keeps, without its network (COORDINATION C-71). */
export type Tree = {
  read(path: string): Node | null
  children(path: string): string[]
  /** All or nothing; what was changed is told when it stands. */
  write(ops: readonly Op[], session: string): Written
  /** What belongs to the session goes. */
  end(session: string): void
  onChange(tell: (change: Change) => void): () => void
  /** As it is now, for ever. */
  snapshot(): TreeView
}

export type TreeView = Pick<Tree, 'read' | 'children'>

export function memoryTree(): Tree {
  let entries: Entries = new Map([['/', blank('', '0', null)]])
  const listeners = new Set<(change: Change) => void>()
  let transaction = 0

  function write(ops: readonly Op[], session: string): Written {
    const draft = new Map(entries)
    const tag = String(transaction + 1)
    const changes: Change[] = []
    const paths: string[] = []
    const versions: number[] = []
    for (const [index, op] of ops.entries()) {
      const done = apply(draft, op, { session, tag, changes })
      if ('why' in done) return { done: false, refused: { index, why: done.why } }
      paths.push(done.path)
      versions.push(done.version)
    }
    transaction++
    entries = draft
    for (const change of changes) for (const tell of listeners) tell(change)
    return { done: true, paths, versions }
  }

  return {
    read: path => nodeAt(entries, path),
    children: path => childrenOf(entries, path),
    snapshot() {
      const then = entries
      return { read: path => nodeAt(then, path), children: path => childrenOf(then, path) }
    },
    write,
    end(session) {
      const paths = [...entries].filter(([, entry]) => entry.owner === session).map(([path]) => path)
      if (paths.length > 0)
        write(
          paths.map(path => ({ do: 'remove', path, version: null })),
          session,
        )
    },
    onChange(tell) {
      listeners.add(tell)
      return () => void listeners.delete(tell)
    },
  }
}

function blank(data: string, tag: string, owner: string | null): Entry {
  return { data, version: 0, tag, created: tag, owner, sequence: 0 }
}

function nodeAt(entries: ReadonlyMap<string, Entry>, path: string): Node | null {
  const found = entries.get(path)
  if (!found) return null
  const { sequence: _, ...node } = found
  return node
}

type Done = { path: string; version: number } | Pick<Refused, 'why'>

function apply(draft: Entries, op: Op, how: { session: string; tag: string; changes: Change[] }): Done {
  if (op.do === 'create') return create(draft, op, how)
  const entry = draft.get(op.path)
  if (!entry) return { why: 'missing' }
  if (op.version !== null && op.version !== entry.version) return { why: 'changed' }
  if (op.do === 'set') {
    const version = entry.version + 1
    draft.set(op.path, { ...entry, data: op.data, version, tag: how.tag })
    how.changes.push({ path: op.path, kind: 'data' })
    return { path: op.path, version }
  }
  if (op.do === 'remove') {
    if (childrenOf(draft, op.path).length > 0) return { why: 'not-empty' }
    draft.delete(op.path)
    how.changes.push({ path: op.path, kind: 'data' }, { path: op.path, kind: 'children' })
    how.changes.push({ path: parentOf(op.path), kind: 'children' })
  }
  return { path: op.path, version: op.version ?? -1 }
}

function create(
  draft: Entries,
  op: Op & { do: 'create' },
  { session, tag, changes }: { session: string; tag: string; changes: Change[] },
): Done {
  const parent = draft.get(parentOf(op.path))
  // Nothing hangs below what goes with a session.
  if (!parent || parent.owner !== null) return { why: 'missing' }
  const path = op.mode === 'sequential' ? `${op.path}${String(parent.sequence).padStart(10, '0')}` : op.path
  if (draft.has(path)) return { why: 'exists' }
  draft.set(parentOf(op.path), { ...parent, sequence: parent.sequence + 1 })
  draft.set(path, blank(op.data, tag, op.mode === 'persistent' ? null : session))
  changes.push({ path, kind: 'data' }, { path: parentOf(path), kind: 'children' })
  return { path, version: 0 }
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(1, path.lastIndexOf('/')))
}

function childrenOf(entries: ReadonlyMap<string, unknown>, path: string): string[] {
  const prefix = path === '/' ? '/' : `${path}/`
  return [...entries.keys()]
    .filter(one => one !== '/' && one.startsWith(prefix) && !one.slice(prefix.length).includes('/'))
    .map(one => one.slice(prefix.length))
}
