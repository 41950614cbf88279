/** What is written down as JSON; a Map is an object, so that `__proto__` and `10` are names like any other (C-121). */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | ReadonlyMap<string, Json>
  | { readonly [name: string]: Json }

/**
 * JSON in one way only: no space, keys in the order of code units, numbers whole and below 2⁵³ (C-30). Compared as
 * bytes, what is equal is equal. Throws RangeError for a number that is not whole.
 */
export function canonical(value: Json): string {
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is no whole number below 2^53`)
    return String(value)
  }
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const pairs = value instanceof Map ? [...value] : Object.entries(value as Record<string, Json>)
  const sorted = pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  return `{${sorted.map(([name, inner]) => `${JSON.stringify(name)}:${canonical(inner)}`).join(',')}}`
}

/** What has a number that cannot be written is the same as nothing. */
export function sameJson(a: Json, b: Json): boolean {
  try {
    return canonical(a) === canonical(b)
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}
