import { chunkBytesMax, documentBytesMax, documentChunksMax } from '../../../limits.ts'
import { canonical } from '../canonical.ts'
import { chunkUnits, type Units, unitsFrom, unitsJson } from '../units.ts'
import { documentFields, type Fields } from './fields.ts'

/** `{"flows":…,"v":1}` around the units of a chunk. */
const chunkFrameBytes = 32

/**
 * A document with units as it is written (C-32): in one piece, or as a head that counts its chunks and the chunks,
 * which stand before the head says so. `write` makes the document with these units.
 */
export function cutDocument(
  units: Units,
  write: (units: Units, chunks: number) => string,
): { head: string; chunks: string[] } {
  const whole = write(units, 0)
  // A character is three bytes at most here, so that most are not counted.
  if (whole.length * 3 <= documentBytesMax || bytesOf(whole) <= documentBytesMax) return { head: whole, chunks: [] }
  const chunks = chunkUnits(units, chunkBytesMax - chunkFrameBytes).map(piece => chunkText(piece))
  return { head: write(new Map(), chunks.length), chunks }
}

/** How many chunks a head speaks of: each of them is read. */
export function chunkCount(fields: Fields): number {
  const count = fields.whole('chunks')
  if (count > documentChunksMax) throw fields.corrupt('chunks', `at most ${documentChunksMax}`)
  return count
}

export function chunkText(units: Units): string {
  return canonical({ flows: unitsJson(units), v: 1 })
}

export function readChunk(text: string, path: string): Units {
  return unitsFrom(documentFields(text, path).json('flows'), `${path}: flows`)
}

/** The union of the chunks: a part may stand in several. */
export function joinChunks(chunks: readonly Units[]): Units {
  const all = new Map<string, Map<string, number[]>>()
  for (const units of chunks) {
    for (const [flow, parts] of units) {
      const of = all.get(flow) ?? new Map<string, number[]>()
      all.set(flow, of)
      for (const [part, numbers] of parts) of.set(part, [...(of.get(part) ?? []), ...numbers])
    }
  }
  for (const parts of all.values()) for (const numbers of parts.values()) numbers.sort((a, b) => a - b)
  return all
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length
}
