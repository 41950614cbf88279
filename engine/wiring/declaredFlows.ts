import type { Json } from '../fleet/decide/canonical.ts'
import type { DeclaredFlow } from '../fleet/decide/declared.ts'
import type { Config } from '../process/config.ts'

/** The flows of a file as they go into documents (C-67). What a schema has read is data. */
export function declaredFlows({ flows }: Pick<Config, 'flows'>): ReadonlyMap<string, DeclaredFlow> {
  return new Map(
    [...flows].map(([name, { kind, declared, overlay }]) => [name, { kind, spec: declared as Json, overlay }]),
  )
}
