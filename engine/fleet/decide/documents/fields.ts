import { MillraceError } from '../../../errors.ts'
import { stateDepthMax, stateShownCharactersMax } from '../../../limits.ts'
import type { Json } from '../canonical.ts'
import { badJsonAt } from './badJson.ts'

/** The version of every document that this process writes, and the highest that it reads (C-30). */
const knownVersion = 1

/** One object of a document, read strictly: what is not as expected is `state-corrupt`, with its place. */
export type Fields = {
  has(name: string): boolean
  /** 0 … 2⁵³ − 1. */
  whole(name: string): number
  /** 1 … 2⁵³ − 1. */
  positive(name: string): number
  text(name: string): string
  textOrNull(name: string): string | null
  flag(name: string): boolean
  oneOf<T extends string>(name: string, words: readonly T[]): T
  texts(name: string): string[]
  list(name: string): Fields[]
  json(name: string): Json
  inner(name: string): Fields
  names(): string[]
  /** What is not among these names, as it stands: writers keep it (C-30). */
  rest(known: readonly string[]): ReadonlyMap<string, Json>
  /** What to throw of one of its fields. */
  corrupt(name: string, expected: string): MillraceError
}

/** The whole document: JSON, an object, of a version that we know. */
export function documentFields(text: string, path: string): Fields {
  const json = parsed(text, path)
  if (isTooDeep(json)) {
    throw new MillraceError('state-corrupt', `${path}: at most ${stateDepthMax} levels expected, found more`)
  }
  const fields = fieldsOf(json, path, '')
  const version = fields.positive('v')
  if (version <= knownVersion) return fields
  throw new MillraceError('state-version', `${path}: version ${version}, this process reads up to ${knownVersion}`, {
    hint: 'a newer Millrace writes here: bring this process up to its version',
  })
}

function parsed(text: string, path: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    const at = badJsonAt(text)
    const shown = JSON.stringify(text.slice(Math.max(0, at - 20), at + stateShownCharactersMax - 20))
    throw new MillraceError('state-corrupt', `${path}: JSON expected at position ${at + 1}, near ${shown}`)
  }
}

/** Level by level: what calls itself for each level has no stack left for a document of a million brackets. */
function isTooDeep(json: unknown): boolean {
  let level = [json]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > stateDepthMax) return true
    level = level.flatMap(one => (typeof one === 'object' && one !== null ? Object.values(one) : []))
  }
  return false
}

function fieldsOf(json: unknown, path: string, where: string): Fields {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw corruptAt(path, where, 'an object', json)
  // A name such as `__proto__` is one like any other only in a Map (C-121).
  const map = new Map<string, unknown>(Object.entries(json))
  const placeOf = (name: string) => (where === '' ? name : `${where}.${name}`)
  const corrupt = (name: string, expected: string) => corruptAt(path, placeOf(name), expected, map.get(name))

  function checked<T>(name: string, expected: string, is: (value: unknown) => value is T): T {
    const value = map.get(name)
    if (!is(value)) throw corrupt(name, expected)
    return value
  }

  return {
    has: name => map.has(name),
    whole: name => checked(name, 'a whole number from 0', isWhole),
    positive: name => checked(name, 'a whole number from 1', (value): value is number => isWhole(value) && value > 0),
    text: name => checked(name, 'text', isText),
    textOrNull: name => (map.get(name) === null ? null : checked(name, 'text or null', isText)),
    flag: name => checked(name, 'true or false', (value): value is boolean => typeof value === 'boolean'),
    oneOf: <T extends string>(name: string, words: readonly T[]) =>
      checked(name, words.join(' | '), (value): value is T => words.includes(value as T)),
    texts: name =>
      checked(name, 'a list of texts', (value): value is string[] => Array.isArray(value) && value.every(isText)),
    list: name =>
      checked(name, 'a list', Array.isArray).map((one, index) => fieldsOf(one, path, `${placeOf(name)}[${index}]`)),
    json: name => checked(name, 'something', (value): value is Json => value !== undefined),
    inner: name => fieldsOf(map.get(name), path, placeOf(name)),
    names: () => [...map.keys()],
    rest: known => new Map([...map].filter(([name]) => name !== 'v' && !known.includes(name)) as [string, Json][]),
    corrupt,
  }
}

function corruptAt(path: string, where: string, expected: string, found: unknown): MillraceError {
  const shown = found === undefined ? 'nothing' : JSON.stringify(found).slice(0, stateShownCharactersMax)
  return new MillraceError('state-corrupt', `${path}: ${where || 'the document'}: ${expected} expected, found ${shown}`)
}

function isWhole(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}
