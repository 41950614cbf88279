import { MillraceError } from '../../errors.ts'
import { rangeNumbersMax } from '../../limits.ts'
import { canonical, type Json } from './canonical.ts'
import { decodeRanges, encodeRanges } from './ranges.ts'

/** Units by flow and part, their numbers ascending: `{flow: {part: ranges}}` in a document (C-30). */
export type Units = ReadonlyMap<string, ReadonlyMap<string, readonly number[]>>

/** From names `<flow>/<part>/<n>` (C-1); a part may have any character but a slash. */
export function unitsOf(names: Iterable<string>): Units {
  const units = new Map<string, Map<string, number[]>>()
  for (const name of names) {
    const [flow = '', part = '', number = ''] = name.split('/')
    let parts = units.get(flow)
    if (!parts) {
      parts = new Map()
      units.set(flow, parts)
    }
    const numbers = parts.get(part)
    if (numbers) numbers.push(Number(number))
    else parts.set(part, [Number(number)])
  }
  for (const parts of units.values()) for (const numbers of parts.values()) numbers.sort((a, b) => a - b)
  return units
}

export function namesOf(units: Units): string[] {
  return [...units].flatMap(([flow, parts]) =>
    [...parts].flatMap(([part, numbers]) => numbers.map(n => `${flow}/${part}/${n}`)),
  )
}

/** As it stands in a document. A part without units is left out, and so is a flow without parts. */
export function unitsJson(units: Units): Map<string, Map<string, string>> {
  const found = new Map<string, Map<string, string>>()
  for (const [flow, parts] of units) {
    const texts = [...parts]
      .map(([part, numbers]) => [part, encodeRanges(numbers)] as const)
      .filter(([, text]) => text !== '')
    if (texts.length > 0) found.set(flow, new Map(texts))
  }
  return found
}

/** Throws `state-corrupt` naming the place. */
export function unitsFrom(json: unknown, where: string): Units {
  const units = new Map<string, Map<string, number[]>>()
  let room = rangeNumbersMax
  for (const [flow, parts] of entriesOf(json, where)) {
    const of = new Map<string, number[]>()
    if (!isName(flow)) throw corrupt(`${where}: ${JSON.stringify(flow)} is no flow`)
    for (const [part, text] of entriesOf(parts, `${where}.${flow}`)) {
      if (!isName(part)) throw corrupt(`${where}.${flow}: ${JSON.stringify(part)} is no part of a unit`)
      if (typeof text !== 'string') throw corrupt(`${where}.${flow}.${part} is no list of ranges`)
      const numbers = decodeRanges(text, room)
      room -= numbers.length
      of.set(part, numbers)
    }
    units.set(flow, of)
  }
  return units
}

/** Of which the name of a unit can be made, and found in it again (C-1). */
function isName(text: string): boolean {
  return text !== '' && !text.includes('/')
}

function entriesOf(json: unknown, where: string): [string, unknown][] {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw corrupt(`${where} is no object`)
  return Object.entries(json)
}

function corrupt(message: string): MillraceError {
  return new MillraceError('state-corrupt', message)
}

/**
 * The units as documents of at most `bytesMax` bytes each (C-32): whole parts, in order; a part is cut only when it
 * alone is larger.
 */
export function chunkUnits(units: Units, bytesMax: number): Units[] {
  const chunks: Map<string, Map<string, readonly number[]>>[] = []
  let open = new Map<string, Map<string, readonly number[]>>()
  let bytes = 0
  const put = (flow: string, part: string, numbers: readonly number[]): void => {
    const cost = bytesOf(new Map([[flow, new Map([[part, encodeRanges(numbers)]])]]))
    if (cost > bytesMax && numbers.length > 1) {
      const half = Math.ceil(numbers.length / 2)
      put(flow, part, numbers.slice(0, half))
      return put(flow, part, numbers.slice(half))
    }
    if (bytes > 0 && (bytes + cost > bytesMax || open.get(flow)?.has(part))) {
      chunks.push(open)
      open = new Map()
      bytes = 0
    }
    open.set(flow, (open.get(flow) ?? new Map()).set(part, numbers))
    bytes += cost
  }
  for (const [flow, parts] of units)
    for (const [part, numbers] of parts) if (numbers.length > 0) put(flow, part, numbers)
  if (bytes > 0) chunks.push(open)
  return chunks
}

/** In UTF-8; the frame around it is counted with each piece, so a sum is never too small. */
function bytesOf(json: Json): number {
  return new TextEncoder().encode(canonical(json)).length
}
