import { MillraceError } from '../errors.ts'
import type { KindEntry, Kinds } from '../fleet/kinds.ts'
import type { AnyKind } from '../flow/contract.ts'
import { kinds as allKinds } from '../kinds.ts'
import { clashesOf } from '../mirror/decide/clashesOf.ts'
import { type MirrorSpec, mirrorSpec } from '../mirror/spec.ts'
import { type ReadConfig, type Reading, readConfig } from '../process/config.ts'
import type { Schemas } from '../process/configFlow.ts'
import { readSpec, type SpecFault, specRefused } from '../process/specOf.ts'
import { flowClashes } from './flowClashes.ts'

/*
 * Loaded when a file or a document is read: a mirror started by flags needs neither YAML nor schemas.
 */

/** How the words of each kind are read. */
export const schemas: Schemas = { mirror: mirrorSpec }

type Clashes = Readonly<Record<string, KindEntry['clashes']>>

const clashes: Clashes = { mirror: flows => clashesOf(flows as ReadonlyMap<string, MirrorSpec>) }

/** Every kind with what reads its specs: what a root hands to the fleet and to its API. */
export const kindEntries: Kinds = entriesOf(allKinds, schemas, clashes)

export function entriesOf(kinds: Readonly<Record<string, AnyKind>>, schemas: Schemas, clashes: Clashes): Kinds {
  return Object.fromEntries(
    Object.entries(kinds).flatMap(([name, kind]) => {
      const schema = Object.hasOwn(schemas, name) ? schemas[name] : undefined
      if (schema === undefined) return []
      const found = clashes[name]
      const entry: KindEntry = {
        kind,
        readSpec(json) {
          const read = readSpec(schema, json)
          if (!read.ok) throw specRefused(name, read.faults)
          return read.spec
        },
        ...(found === undefined ? {} : { clashes: found }),
      }
      return [[name, entry]]
    }),
  )
}

/**
 * What a spec of that kind is refused for; none: it is not. `clusters`: those of the configuration, which `from` and
 * `to` have to name; null = any.
 */
export function specFaults(kind: string, json: unknown, clusters: readonly string[] | null = null): SpecFault[] {
  const read = readSpec(schemaOf(kind), json, clusters)
  return read.ok ? [] : read.faults
}

/** The tags that a declared spec requires of a worker (C-53). Throws `config-invalid`. */
export function requiresOf(kind: string, json: unknown): readonly string[] {
  const read = readSpec(schemaOf(kind), json)
  if (!read.ok) throw specRefused(kind, read.faults)
  return read.requires
}

function schemaOf(kind: string) {
  const schema = Object.hasOwn(schemas, kind) ? schemas[kind] : undefined
  if (schema) return schema
  const hint = `this version has: ${Object.keys(schemas).join(', ')}`
  throw new MillraceError('config-invalid', `there is no kind '${kind}' of flows`, { hint })
}

/** A configuration with the kinds that there are, and what they say against each other (DESIGN §7). */
export function readFlows(text: string, processes: Reading['processes'] & string): ReadConfig {
  return readConfig(text, schemas, { clashes: flowClashes, processes })
}
