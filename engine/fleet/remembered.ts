import { MillraceError } from '../errors.ts'
import { refuseTooLarge } from '../flow/refuseTooLarge.ts'
import type { Coordinator, Op, Written } from '../ports/coordinator.ts'
import { paths } from './decide/documents/paths.ts'
import { documentsOf, isExported, wishedOf } from './decide/export.ts'
import type { Exports } from './exports.ts'

/** A coordinator in memory that has a store to remember by (C-66). */
export type Remembered = Coordinator & {
  /**
   * Fills the documents from the store; gives the epoch found there, 0 when there is nothing. It is done before the
   * first change at the latest, and until it has succeeded nothing can be changed: an empty memory would be written
   * over the store.
   */
  restore(): Promise<number>
}

/**
 * What people change is in the store before it is answered, and in memory only then: with the store away a change
 * fails with the store's code and nothing has changed (C-66). Every session of the process that changes these documents
 * must be wrapped so, over one `exports`: each change is foreseen from what the one before it left.
 */
export function remembering(coordinator: Coordinator, exports: Exports): Remembered {
  let restoring: Promise<number> | null = null
  function restored(): Promise<number> {
    restoring ??= restore(coordinator, exports).catch((error: unknown) => {
      restoring = null
      throw error
    })
    return restoring
  }

  async function change(ops: readonly Op[]): Promise<Written> {
    refuseTooLarge(ops)
    const epochMin = await restored()
    const before = await documentsNow(coordinator)
    const foreseen = await foresee(coordinator, ops)
    const store = (documents: ReadonlyMap<string, string>) => exports.write(wishedOf(documents, epochMin))
    if (foreseen !== null) await store(changed(before, foreseen))
    let done = false
    try {
      const written = await coordinator.write(ops)
      done = written.done
      return written
    } finally {
      // A refusal that was not foreseen is what is told. Where the store fails now, the next change puts it right.
      if (!done && foreseen !== null) await store(before).catch(() => {})
    }
  }

  return {
    ...coordinator,
    async write(ops) {
      const isOver = coordinator.state().phase === 'lost'
      if (isOver || !ops.some(op => op.do !== 'check' && isExported(op.path))) return coordinator.write(ops)
      return exports.inTurn(() => change(ops))
    },
    restore: () => exports.inTurn(restored),
  }
}

/** One document at a time: all together may be more than one write takes. Interrupted, it is done again. */
async function restore(coordinator: Coordinator, exports: Exports): Promise<number> {
  const found = await exports.read()
  const documents = new Map(found ? documentsOf(found) : [])
  if ((await coordinator.read(paths.flows)) === null) documents.set(paths.flows, '')
  // Parents first: `/flows` is shorter than what is in it.
  for (const [path, data] of [...documents].sort(([a], [b]) => a.length - b.length)) {
    const now = await coordinator.read(path)
    // Another session has restored it already: a new tag would look like somebody's change (C-38).
    if (now?.data === data) continue
    const written = await coordinator.write([
      now ? { do: 'set', path, data, version: now.version } : { do: 'create', path, data, mode: 'persistent' },
    ])
    if (!written.done) throw new MillraceError('state-corrupt', `${path}: ${written.refused.why} in memory`)
  }
  return found?.epoch ?? 0
}

/** All that is exported, as texts by path. */
async function documentsNow(coordinator: Coordinator): Promise<Map<string, string>> {
  const flows = (await coordinator.children(paths.flows)).map(paths.flow)
  const documents = new Map<string, string>()
  for (const path of [...flows, paths.wishes, paths.logging, paths.epoch]) {
    const node = await coordinator.read(path)
    if (node !== null) documents.set(path, node.data)
  }
  return documents
}

function changed(before: ReadonlyMap<string, string>, by: ReadonlyMap<string, string | null>): Map<string, string> {
  const documents = new Map(before)
  for (const [path, text] of by) {
    if (text === null) documents.delete(path)
    else if (isExported(path)) documents.set(path, text)
  }
  return documents
}

type Foreseen = { data: string; version: number } | null

/**
 * What the documents will be, null each that will be gone; null in all when an operation will be refused: then nothing
 * is stored, and who knows best says why.
 */
async function foresee(coordinator: Coordinator, ops: readonly Op[]): Promise<Map<string, string | null> | null> {
  const nodes = new Map<string, Foreseen>()
  const nodeAt = async (path: string): Promise<Foreseen> =>
    nodes.get(path) ?? (nodes.has(path) ? null : coordinator.read(path))
  for (const op of ops) {
    const now = await nodeAt(op.path)
    if (op.do === 'create') {
      const parent = op.path.slice(0, Math.max(1, op.path.lastIndexOf('/')))
      if ((now !== null && op.mode !== 'sequential') || (await nodeAt(parent)) === null) return null
      if (op.mode === 'persistent') nodes.set(op.path, { data: op.data, version: 0 })
    } else {
      if (now === null || (op.version !== null && op.version !== now.version)) return null
      if (op.do === 'set') nodes.set(op.path, { data: op.data, version: now.version + 1 })
      if (op.do === 'remove') nodes.set(op.path, null)
    }
  }
  return new Map([...nodes].map(([path, node]) => [path, node?.data ?? null]))
}
