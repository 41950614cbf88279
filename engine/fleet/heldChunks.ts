import { chunkBytesMax, writeBytesMax, writeOpsMax } from '../limits.ts'
import type { Coordinator, Op } from '../ports/coordinator.ts'
import { acceptAssignment, type Generation } from './decide/assignment.ts'
import { chunkText, cutDocument, readChunk } from './decide/documents/chunks.ts'
import { type HeldDoc, writeHeld } from './decide/documents/held.ts'
import { chunkName, paths } from './decide/documents/paths.ts'
import { namesOf, unitsOf } from './decide/units.ts'

const chunksAtOnce = Math.floor(writeBytesMax / chunkBytesMax)

/** As it is to be written; the chunks by their names. */
export type CutHeld = { head: string; chunks: ReadonlyMap<string, string> }

/**
 * A large report in chunks (C-32), whose names are those of its generation, in which it is written again and again. So
 * a unit keeps its chunk for a generation: a reader between two chunks of two writes misses none that is held, which
 * would free it. Within a generation units only leave.
 */
export function heldChunks(
  coordinator: Coordinator,
  id: string,
): {
  cut(doc: Omit<HeldDoc, 'chunks'>): CutHeld
  /** Before the head is. False: not all of them stand there. */
  write(doc: CutHeld): Promise<boolean>
  /** After it: chunks that no head speaks of. */
  tidy(doc: CutHeld): Promise<void>
} {
  const path = paths.held(id)
  let at: Generation | null = null
  let chunkOf: Map<string, number> | null = null
  let count = 0
  /** Chunks that stand there, as far as we know; null: to be looked at. */
  let there: Map<string, string> | null = null

  function cut(doc: Omit<HeldDoc, 'chunks'>): CutHeld {
    if (at === null || acceptAssignment(at, doc) !== 'same') {
      at = { epoch: doc.epoch, generation: doc.generation }
      const whole = cutDocument(doc.units, (units, chunks) => writeHeld({ ...doc, units, chunks }))
      count = whole.chunks.length
      chunkOf = count === 0 ? null : new Map()
      for (const [index, text] of whole.chunks.entries())
        for (const name of namesOf(readChunk(text, path))) chunkOf?.set(name, index)
    }
    if (chunkOf === null) return { head: writeHeld({ ...doc, chunks: 0 }), chunks: new Map() }
    const names: string[][] = Array.from({ length: count }, () => [])
    for (const name of namesOf(doc.units)) names[chunkOf.get(name) ?? 0]?.push(name)
    const chunks = names.map((some, index) => [chunkName(doc, index), chunkText(unitsOf(some))] as const)
    return { head: writeHeld({ ...doc, units: new Map(), chunks: count }), chunks: new Map(chunks) }
  }

  async function look(): Promise<Map<string, string>> {
    const known = there ?? new Map((await coordinator.children(path)).map(name => [name, '']))
    there = known
    return known
  }

  return {
    cut,
    async write({ chunks }) {
      if (chunks.size === 0) return true
      const known = await look()
      const changed = [...chunks].filter(([name, text]) => known.get(name) !== text)
      const isDone = await each(changed, chunksAtOnce, ([name, data]) => {
        const place = `${path}/${name}`
        if (known.has(name)) return { do: 'set', path: place, data, version: null }
        return { do: 'create', path: place, data, mode: 'persistent' }
      })
      if (isDone) for (const [name, text] of changed) known.set(name, text)
      return isDone
    },
    async tidy({ chunks }) {
      const known = await look()
      const old = [...known.keys()].filter(name => !chunks.has(name))
      const isDone = await each(old, writeOpsMax, name => ({ do: 'remove', path: `${path}/${name}`, version: null }))
      if (isDone) for (const name of old) known.delete(name)
    },
  }

  /** What stands there is looked at anew when not all of it was done. */
  async function each<T>(items: readonly T[], atOnce: number, op: (item: T) => Op): Promise<boolean> {
    const known = there
    for (let from = 0; from < items.length; from += atOnce) {
      there = null
      const written = await coordinator.write(items.slice(from, from + atOnce).map(op))
      if (!written.done) return false
      there = known
    }
    return true
  }
}
