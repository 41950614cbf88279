import { z } from 'zod'
import { MillraceError } from '../errors.ts'
import { nearest } from '../flow/nearest.ts'
import { bodyDepthMax, bodyFaultsMax, configShownCharactersMax } from '../limits.ts'
import { pathText } from './bodyPaths.ts'
import type { BodyFault } from './parts.ts'
import { badBody, refused } from './refusal.ts'

type Issue = z.core.$ZodIssue
type Path = readonly (string | number)[]

/** A body, or a query, as its schema gives it; throws 422 with everything that is wrong. */
export function checked<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const faults = result.error.issues.flatMap(issue => faultsOfIssue(issue, schema, value))
  throw badBody(faults.slice(0, bodyFaultsMax), what)
}

/** Bytes as JSON. Throws `request-invalid` where they are none, and 422 where they are nested too deep. */
export function jsonOf(bytes: Uint8Array): unknown {
  let json: unknown
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    // The engine's message shows a piece of the text, which may be a secret.
    const place =
      error instanceof SyntaxError ? (/at position \d+/.exec(error.message)?.[0] ?? 'at its end') : 'as UTF-8'
    throw refused('request-invalid', `the body is no JSON: it cannot be read ${place}`, { status: 400 })
  }
  const depth = `at most ${bodyDepthMax} levels`
  if (isDeeper(json, bodyDepthMax)) throw badBody([{ path: '', found: 'more', expected: depth, hint: null }])
  return json
}

function isDeeper(json: unknown, levels: number): boolean {
  if (typeof json !== 'object' || json === null) return false
  return levels === 0 || Object.values(json).some(inner => isDeeper(inner, levels - 1))
}

/** Documents hold whole numbers only (C-30). */
export function fractionsIn(json: unknown, path: Path = []): BodyFault[] {
  if (typeof json === 'number' && !Number.isSafeInteger(json)) {
    return [{ path: pathText(path), found: String(json), expected: 'a whole number below 2^53', hint: null }]
  }
  if (typeof json !== 'object' || json === null) return []
  const isList = Array.isArray(json)
  return Object.entries(json).flatMap(([key, inner]) => fractionsIn(inner, [...path, isList ? Number(key) : key]))
}

function faultsOfIssue(issue: Issue, schema: z.ZodType, value: unknown): BodyFault[] {
  const path = issue.path.map(part => (typeof part === 'number' ? part : String(part)))
  if (issue.code === 'unrecognized_keys') {
    const known = keysAt(schema, path)
    return issue.keys.map(key => {
      const near = nearest(key, known)
      const expected = known.length === 0 ? 'nothing here' : orList(known)
      const hint = near === null ? null : `did you mean ${near}?`
      return { path: pathText([...path, key]), found: shown(key, []), expected, hint }
    })
  }
  const { expected, hint } = expectedOf(issue)
  const found = valueAt(value, path)
  return [{ path: pathText(path), found: shown(found, path), expected, hint: hint ?? meant(issue, found) }]
}

function meant(issue: Issue, found: unknown): string | null {
  if (issue.code !== 'invalid_value' || typeof found !== 'string') return null
  const near = nearest(found, issue.values.map(String))
  return near === null ? null : `did you mean ${near}?`
}

const typeWords: Record<string, string> = {
  string: 'text',
  object: 'an object',
  array: 'a list',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
}

function expectedOf(issue: Issue): { expected: string; hint?: string | null } {
  if (issue.code === 'custom' && issue.params?.['expected'] !== undefined) {
    return { expected: String(issue.params['expected']), hint: issue.params['hint'] ?? null }
  }
  if (issue.code === 'invalid_type') return { expected: typeWords[issue.expected] ?? issue.expected }
  if (issue.code === 'invalid_value') return { expected: orList(issue.values.map(String)) }
  if (issue.code === 'too_small') return { expected: `${sizeOf(issue.origin)} of at least ${issue.minimum}` }
  if (issue.code === 'too_big') return { expected: `${sizeOf(issue.origin)} of at most ${issue.maximum}` }
  return { expected: issue.message }
}

function sizeOf(origin: string): string {
  return origin === 'string' ? 'a length' : origin === 'array' ? 'a list' : 'a number'
}

export function orList(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

/** A value as a fault names it: short, and never one of a key that looks like a secret's. */
export function shown(value: unknown, path: Path): string {
  if (value === undefined || value === null) return 'nothing'
  const key = String(path.findLast(part => typeof part === 'string') ?? '')
  if (/passw(or)?d|passphrase|secret|token|credential|jaas|(api|access|private)[-_.]?key/i.test(key)) {
    return 'a hidden value'
  }
  if (typeof value === 'string') {
    const text = value.replace(/\/\/[^/]*@/, '//…@')
    return `'${text.length > configShownCharactersMax ? `${text.slice(0, configShownCharactersMax)}…` : text}'`
  }
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : String(value)
}

function valueAt(value: unknown, path: Path): unknown {
  let at = value
  for (const part of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return undefined
    at = (at as Record<string | number, unknown>)[part]
  }
  return at
}

type Shape = { properties?: Record<string, Shape>; additionalProperties?: Shape | boolean; items?: Shape }

function keysAt(schema: z.ZodType, path: Path): string[] {
  let shape = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Shape | undefined
  for (const part of path) {
    if (typeof part === 'number') shape = shape?.items
    else if (shape?.properties && Object.hasOwn(shape.properties, part)) shape = shape.properties[part]
    else shape = typeof shape?.additionalProperties === 'object' ? shape.additionalProperties : undefined
  }
  return Object.keys(shape?.properties ?? {})
}

/** What a `MillraceError` of a spec says, where nothing gives its faults one by one. */
export function faultOfSpec(error: unknown): BodyFault {
  if (!(error instanceof MillraceError) || error.code !== 'config-invalid') throw error
  return { path: 'spec', found: 'an object', expected: error.message, hint: error.hint }
}
