/**
 * An answer as JSON. A Map is an object, so that `__proto__` is a name like any other (C-121); an offset above 2⁵³ is a
 * decimal text.
 */
export function answerText(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (inner instanceof Map) return objectOf(inner)
    if (typeof inner !== 'bigint') return inner
    return inner > BigInt(Number.MAX_SAFE_INTEGER) ? String(inner) : Number(inner)
  })
}

/** Without a prototype every name is one of its own. */
function objectOf(map: ReadonlyMap<string, unknown>): object {
  const object = Object.create(null) as Record<string, unknown>
  for (const [name, value] of map) object[name] = value
  return object
}
