import { bodyPathsMax, configShownCharactersMax } from '../limits.ts'

type Path = readonly (string | number)[]

/** `spec.topics.include[0]`; a key with other signs than those of names in brackets and quotes. */
export function pathText(path: Path): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`
    if (!/^[\w-]+$/.test(part)) return `${text}[${JSON.stringify(part.slice(0, configShownCharactersMax))}]`
    const short = part.slice(0, configShownCharactersMax)
    return text === '' ? short : `${text}.${short}`
  }, '')
}

/** Where two values differ: the paths of the lowest places, in order. What cannot be told apart by path is one place. */
export function changedPaths(before: unknown, after: unknown): string[] {
  const found: string[] = []
  walk(before, after, [], found)
  return found.length > bodyPathsMax ? [...found.slice(0, bodyPathsMax), '…'] : found
}

function walk(before: unknown, after: unknown, path: Path, found: string[]): void {
  if (found.length > bodyPathsMax) return
  const [a, b] = [entriesOf(before), entriesOf(after)]
  if (a === null || b === null) {
    if (JSON.stringify(before) !== JSON.stringify(after)) leaves(a ?? b, path, found)
    return
  }
  for (const key of new Set([...a.keys(), ...b.keys()])) walk(a.get(key), b.get(key), [...path, key], found)
}

/** Of something that only one side has. */
function leaves(entries: ReadonlyMap<string, unknown> | null, path: Path, found: string[]): void {
  if (entries === null || entries.size === 0) {
    found.push(pathText(path))
    return
  }
  for (const [key, value] of entries) {
    if (found.length > bodyPathsMax) return
    leaves(entriesOf(value), [...path, key], found)
  }
}

/** A list is one place: it has no names. */
function entriesOf(value: unknown): ReadonlyMap<string, unknown> | null {
  if (value instanceof Map) return value
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
  return new Map(Object.entries(value))
}
