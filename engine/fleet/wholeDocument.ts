import { MillraceError } from '../errors.ts'
import { chunkReadsMax } from '../limits.ts'
import type { Coordinator, Node } from '../ports/coordinator.ts'
import type { Generation } from './decide/assignment.ts'
import { joinChunks, readChunk } from './decide/documents/chunks.ts'
import type { Units } from './decide/units.ts'

type Head = Generation & { chunks: number; units: Units }

/**
 * A document with all its units (C-32). A chunk that is missed means that the head has been written anew: it is read
 * again. Null: there is no such document. `first`: the head, when it has just been read.
 */
export async function readWhole<Doc extends Head>(
  coordinator: Coordinator,
  path: string,
  how: { parse(text: string): Doc; chunkPath(at: Generation, chunk: number): string; first?: Node },
): Promise<{ doc: Doc; node: Node } | null> {
  let missed = ''
  for (let tries = 0; tries < chunkReadsMax; tries++) {
    const node = (tries === 0 ? how.first : undefined) ?? (await coordinator.read(path))
    if (node === null) return null
    const doc = how.parse(node.data)
    if (doc.chunks === 0) return { doc, node }
    const places = Array.from({ length: doc.chunks }, (_, chunk) => how.chunkPath(doc, chunk))
    const chunks = await Promise.all(places.map(place => coordinator.read(place)))
    const at = chunks.indexOf(null)
    if (at === -1) {
      const units = chunks.map((chunk, index) => readChunk(chunk?.data ?? '', places[index] ?? ''))
      return { doc: { ...doc, units: joinChunks(units) }, node }
    }
    missed = places[at] ?? ''
  }
  throw new MillraceError(
    'state-corrupt',
    `${path}: its chunk ${missed} is not there, in ${chunkReadsMax} tries (C-32)`,
  )
}
