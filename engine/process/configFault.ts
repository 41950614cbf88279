import { configShownCharactersMax } from '../limits.ts'

/** Where something stands in the file, both from 1. */
export type Place = { line: number; column: number }
export type ConfigPath = readonly (string | number)[]

/** One fault of a configuration (DESIGN §9). `path` '' = the file as a whole; `rule` = the rule that it breaks, if one does. */
export type ConfigFault = Place & { path: string; rule?: string; found: string; expected: string; hint: string | null }

/** `flows.clicks.topics.include[0]`; a key with other signs than those of names in brackets and quotes. */
export function pathText(path: ConfigPath): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`
    if (!/^[\w-]+$/.test(part)) return `${text}[${JSON.stringify(cut(part))}]`
    return text === '' ? part : `${text}.${part}`
  }, '')
}

/** The value at `path` as a fault names it: short, and never one of a key that looks like a secret's (DESIGN §7). */
export function shown(value: unknown, path: ConfigPath): string {
  if (value === undefined || value === null) return 'nothing'
  if (isSecret(path)) return 'a hidden value'
  if (typeof value === 'string') return value === '' ? "''" : `'${cut(withoutLogin(value))}'`
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'a mapping' : String(value)
}

/** Judged by the key that the value stands under; one in a list stands under the key of the list. */
export function isSecret(path: ConfigPath): boolean {
  const key = path.findLast(part => typeof part === 'string')
  return /passw(or)?d|passphrase|secret|token|credential|jaas|(api|access|private)[-_.]?key/i.test(String(key ?? ''))
}

/** `scheme://user:password@host` is written where an address is asked for. */
export function withoutLogin(text: string): string {
  return text.replace(/\/\/[^/]*@/, '//…@')
}

function cut(text: string): string {
  return text.length > configShownCharactersMax ? `${text.slice(0, configShownCharactersMax)}…` : text
}

/** In the order of the file. */
export function inOrder<T extends Place>(faults: readonly T[]): T[] {
  return faults.toSorted((a, b) => a.line - b.line || a.column - b.column)
}
