import type { z } from 'zod'
import { nearest } from '../flow/nearest.ts'
import type { Overlay } from '../flow/overlay.ts'
import { type Around, checked, faultAt, isMapping } from './configChecked.ts'
import { type ConfigFault, type ConfigPath, shown } from './configFault.ts'
import { notYet, orList } from './configIssues.ts'
import { overlayOf, overlayWords } from './configOverlay.ts'
import { tagWords } from './configTags.ts'

/**
 * One entry of `flows:`. `spec` is what the schema of its kind made of it; `declared` is the same as data of the
 * file's shape, with defaults and what it requires: so it stands in a document, and is read back from it.
 */
export type FlowSettings = {
  kind: string
  spec: unknown
  overlay: Overlay
  /** Tags of the workers that may run it (C-53). */
  requires: readonly string[]
  declared: Readonly<Record<string, unknown>>
}

/** The schemas of specs by kind. */
export type Schemas = Readonly<Record<string, z.ZodType>>

/** Kinds and words of the design that this version does not have. */
const kindsLater: readonly string[] = ['job', 'function']
const commonWords = overlayWords.extend({ requires: tagWords })
const flowWords = ['kind', ...Object.keys(commonWords.shape)]

type InFile = Around & { schemas: Schemas; clusters: readonly string[] | null }

/** Null when it has faults, which are said. */
export function readFlow(name: string, value: unknown, around: InFile): { flow: FlowSettings; plain: unknown } | null {
  const { text, faults, schemas } = around
  const at = ['flows', name]
  const before = faults.length
  if (!/^[a-z0-9][a-z0-9-]{0,62}$/.test(name)) {
    const expected = 'small letters, digits and dashes, 63 at most, not a dash first'
    faults.push(faultAt(text, at, 'key', shown(name, []), expected))
  }
  if (!isMapping(value)) {
    faults.push(faultAt(text, at, 'value', shown(value, at), 'a mapping with kind'))
    return null
  }
  const { kind, paused, skips, requires, ...spec } = value
  const words = checked(commonWords, { paused, skips, requires }, { at, text, faults })
  faults.push(...unsayable({ paused, skips }, at, around))
  const own = typeof kind === 'string' && Object.hasOwn(schemas, kind) ? schemas[kind] : undefined
  if (own === undefined) faults.push(kindFault(kind, [...at, 'kind'], around))
  // All is said at once: the rest is read as of the kind that was meant.
  const schema = own ?? schemas[nearest(String(kind), Object.keys(schemas)) ?? '']
  faults.push(...clusterFaults(spec, at, around))
  const read = schema && checked(schema, spec, { at, text, faults, otherKeys: flowWords })
  if (faults.length > before || !words || !isMapping(read)) return null
  return {
    flow: {
      kind: String(kind),
      spec: read,
      overlay: overlayOf(words),
      requires: words.requires,
      declared: declaredOf(read, words.requires),
    },
    plain: { kind, ...words, ...read },
  }
}

/** What a flow requires stands in its document only when it requires something (C-30). */
export function declaredOf(spec: Record<string, unknown>, requires: readonly string[]): Record<string, unknown> {
  return { ...spec, ...(requires.length === 0 ? {} : { requires }) }
}

/** The library that checks words leaves this name out of a mapping, without a word. */
function unsayable(of: Record<string, unknown>, at: ConfigPath, { text }: Around): ConfigFault[] {
  return Object.entries(of).flatMap(([key, value]) => {
    if (!isMapping(value) || !Object.hasOwn(value, '__proto__')) return []
    const path = [...at, key, '__proto__']
    return [faultAt(text, path, 'key', "'__proto__'", 'another name: a file cannot say this one')]
  })
}

function kindFault(kind: unknown, path: ConfigPath, { text, schemas }: InFile): ConfigFault {
  const fault = faultAt(text, path, 'value', shown(kind, path), orList(Object.keys(schemas)))
  if (typeof kind !== 'string') return fault
  const near = nearest(kind, Object.keys(schemas))
  const guess = near === null ? null : `did you mean ${near}?`
  return { ...fault, hint: kindsLater.includes(kind) ? notYet : guess }
}

/** `from` and `to` of a flow name clusters of the file; null: those are not known. */
export function clusterFaults(
  spec: Record<string, unknown>,
  at: ConfigPath,
  { text, clusters }: Pick<InFile, 'clusters'> & { text: Pick<Around['text'], 'placeOf'> },
): ConfigFault[] {
  if (clusters === null) return []
  return ['from', 'to'].flatMap(key => {
    const name = spec[key]
    if (typeof name !== 'string' || name === '' || clusters.includes(name)) return []
    const near = nearest(name, clusters)
    const hint = near === null ? null : `did you mean ${near}?`
    const expected = clusters.length === 0 ? 'a cluster of clusters:' : orList(clusters)
    return [{ ...faultAt(text, [...at, key], 'value', shown(name, [...at, key]), expected), hint }]
  })
}
