import { type ConfigPath, pathText } from '../engine/process/configFault.ts'

/** Where two specs differ, a line each: `- topics.include: ["a"]` stands there now, `+ …` is asked for. */
export function specDiff(before: unknown, after: unknown): string[] {
  const found: string[] = []
  walk(before, after, [], found)
  return found
}

function walk(before: unknown, after: unknown, path: ConfigPath, found: string[]): void {
  const [a, b] = [mappingOf(before), mappingOf(after)]
  if (a !== null && b !== null) {
    for (const key of new Set([...a.keys(), ...b.keys()])) walk(a.get(key), b.get(key), [...path, key], found)
    return
  }
  if (textOf(before) === textOf(after)) return
  if (before !== undefined) leaves('-', before, path, found)
  if (after !== undefined) leaves('+', after, path, found)
}

function leaves(sign: '-' | '+', value: unknown, path: ConfigPath, found: string[]): void {
  const of = mappingOf(value)
  if (of === null || of.size === 0) found.push(`${sign} ${pathText(path)}: ${textOf(value)}`)
  else for (const [key, inner] of of) leaves(sign, inner, [...path, key], found)
}

/** A list is one value: its places have no names. */
function mappingOf(value: unknown): ReadonlyMap<string, unknown> | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
  return new Map(Object.entries(value))
}

function textOf(value: unknown): string {
  return JSON.stringify(value) ?? 'nothing'
}
