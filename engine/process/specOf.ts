import { z } from 'zod'
import { MillraceError } from '../errors.ts'
import { checked, define, isMapping } from './configChecked.ts'
import { type ConfigFault, shown } from './configFault.ts'
import { clusterFaults } from './configFlow.ts'
import { tagWords } from './configTags.ts'

/** One fault of a spec that is no piece of a file: `path` begins in the spec, '' = the spec as a whole. */
export type SpecFault = Pick<ConfigFault, 'path' | 'found' | 'expected' | 'hint'>

/** `spec` is what the schema made of it; what the flow requires stands beside it (C-53). */
export type ReadSpec<T> = { ok: true; spec: T; requires: readonly string[] } | { ok: false; faults: SpecFault[] }

const nowhere = { placeOf: () => ({ line: 1, column: 1 }) }
const common = z.strictObject({ requires: tagWords })

/**
 * A spec as data, of a document (C-30) or of a request, in the words that a file is refused with. Objects may be Maps.
 * `clusters`: those that `from` and `to` may name; null = any. Throws nothing, whatever the data.
 */
export function readSpec<T>(
  schema: z.ZodType<T>,
  json: unknown,
  clusters: readonly string[] | null = null,
): ReadSpec<T> {
  const value = plainOf(json)
  if (!isMapping(value)) {
    return { ok: false, faults: [{ path: '', found: shown(value, []), expected: 'a mapping', hint: null }] }
  }
  const faults: ConfigFault[] = []
  const { requires, ...spec } = value
  const words = checked(common, requires === undefined ? {} : { requires }, { at: [], text: nowhere, faults })
  faults.push(...clusterFaults(spec, [], { text: nowhere, clusters }))
  const read = checked(schema, spec, { at: [], text: nowhere, faults, otherKeys: Object.keys(common.shape) })
  if (words && read !== null && faults.length === 0) return { ok: true, spec: read, requires: words.requires }
  return {
    ok: false,
    faults: faults.map(({ path, rule, found, expected, hint }) => ({
      path,
      found,
      expected: rule === undefined ? expected : `${expected} (${rule})`,
      hint,
    })),
  }
}

/** All faults in one error. */
export function specRefused(kind: string, faults: readonly SpecFault[]): MillraceError {
  const said = faults.map(({ path, found, expected, hint }) => {
    const guess = hint === null || faults.length === 1 ? '' : ` (${hint})`
    return `${path === '' ? 'the spec' : path}: found ${found}, expected ${expected}${guess}`
  })
  const hint = faults.length === 1 ? (faults[0]?.hint ?? null) : null
  return new MillraceError('config-invalid', `spec of kind ${kind}: ${said.join('; ')}`, { hint })
}

/** Documents are read into Maps, so that every name is one like another (C-121); schemas know objects. */
function plainOf(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(plainOf)
  if (typeof json !== 'object' || json === null) return json
  const object: Record<string, unknown> = {}
  const pairs: Iterable<[unknown, unknown]> = json instanceof Map ? json : Object.entries(json)
  for (const [name, value] of pairs) define(object, String(name), plainOf(value))
  return object
}
