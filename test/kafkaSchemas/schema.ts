/** A field as Kafka's `common/message/*.json` describes it; struct fields have `fields` of their own. */
export type Field = {
  name: string
  type: string
  versions: string
  nullableVersions?: string
  taggedVersions?: string
  tag?: number
  fields?: Field[]
}
export type Schema = {
  name: string
  apiKey: number
  flexibleVersions: string
  fields: Field[]
  commonStructs?: { name: string; fields: Field[] }[]
}

/** The schemas are JSON with whole lines of comment. */
export function parseSchema(text: string): Schema {
  return JSON.parse(text.replaceAll(/^\s*\/\/.*$/gm, ''))
}

/** `3+`, `0-12`, `4`, `none`. */
export function within(versions: string | undefined, version: number): boolean {
  const range = /^(\d+)(?:(\+)|-(\d+))?$/.exec(versions?.trim() ?? 'none')
  if (!range) return false
  const min = Number(range[1])
  const max = range[2] ? Number.POSITIVE_INFINITY : Number(range[3] ?? min)
  return version >= min && version <= max
}
