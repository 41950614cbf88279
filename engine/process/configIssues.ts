import { z } from 'zod'
import { nearest } from '../flow/nearest.ts'
import { type ConfigFault, type ConfigPath, pathText, shown } from './configFault.ts'
import type { ConfigText } from './configYaml.ts'

type Issue = z.core.$ZodIssue
/** What we read of a JSON schema. */
type Shape = {
  description?: string
  properties?: Record<string, Shape>
  additionalProperties?: Shape | boolean
  propertyNames?: Shape
  items?: Shape
  anyOf?: Shape[]
  not?: object
  type?: string
  minimum?: number
  maximum?: number
  maxItems?: number
  minItems?: number
  enum?: unknown[]
  const?: unknown
}

export const notYet = 'not in this version'

/**
 * What a schema has against a value as faults of the file. `at` = where the value stands in it; `otherKeys` = keys
 * that may stand beside those of the schema. An issue of a check may bring `params: {rule?, found?, expected?, hint?}`.
 */
export function faultsOf(
  issues: readonly Issue[],
  of: {
    schema: z.ZodType
    value: unknown
    at: ConfigPath
    text: Pick<ConfigText, 'placeOf'>
    otherKeys?: readonly string[]
  },
): ConfigFault[] {
  const shape = shapeOf(of.schema)
  return issues.flatMap(issue => faultsOfIssue(issue, []))

  function faultsOfIssue(issue: Issue, within: ConfigPath): ConfigFault[] {
    const inner = [...within, ...issue.path.map(part => (typeof part === 'number' ? part : String(part)))]
    const path = [...of.at, ...inner]
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map(key => unknownKey(key, path, knownKeys(shape, inner, of.otherKeys), of.text))
    }
    const branch = issue.code === 'invalid_union' ? meantBranch(issue.errors) : null
    if (branch) return branch.flatMap(one => faultsOfIssue(one, inner))
    if (issue.code === 'invalid_key') {
      const names = partsAt(shape, inner.slice(0, -1)).find(part => part.propertyNames)?.propertyNames
      return [{ ...base(path, 'key', issue.issues[0] ?? issue, [names ?? {}]), found: `'${inner.at(-1)}'` }]
    }
    const value = valueAt(of.value, inner)
    if (isLater(issue)) return [{ ...unknownKey(String(path.at(-1)), path.slice(0, -1), [], of.text), hint: notYet }]
    const fault = base(path, 'value', issue, partsAt(shape, inner))
    const found = paramsOf(issue).found ?? shown(value, path)
    return [{ ...fault, found, hint: fault.hint ?? hintFor(value, issue, path) }]
  }

  function base(path: ConfigPath, which: 'key' | 'value', issue: Issue, parts: Shape[]): ConfigFault {
    const { rule, expected, hint } = paramsOf(issue)
    const wanted = expected ?? parts.map(expectedOf).find(text => text !== '') ?? 'something else'
    const found = { path: pathText(path), ...of.text.placeOf(path, which), found: '', expected: wanted }
    return { ...found, hint: hint ?? null, ...(rule === undefined ? {} : { rule }) }
  }
}

/** A file of many flows asks for the same few. */
const shapes = new WeakMap<z.ZodType, Shape>()

function shapeOf(schema: z.ZodType): Shape {
  const known = shapes.get(schema)
  if (known) return known
  const shape = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Shape
  shapes.set(schema, shape)
  return shape
}

/** A key that is not known here. `known` empty = no list is given. */
function unknownKey(
  key: string,
  path: ConfigPath,
  known: readonly string[],
  text: Pick<ConfigText, 'placeOf'>,
): ConfigFault {
  const whole = [...path, key]
  const near = nearest(key, known)
  const expected = known.length === 0 ? 'no such key' : orList(known)
  const hint = near === null ? null : `did you mean ${near}?`
  return { path: pathText(whole), ...text.placeOf(whole, 'key'), found: shown(key, []), expected, hint }
}

export function orList(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

/** A key that the design has and this version has not: `z.never()`. */
function isLater(issue: Issue): boolean {
  return issue.code === 'invalid_type' && issue.expected === 'never'
}

/** Of several forms the one whose type the value has; null when there is none, or not only one. */
function meantBranch(errors: readonly (readonly Issue[])[]): readonly Issue[] | null {
  const meant = errors.filter(issues => !issues.some(isAtTop))
  return meant.length === 1 ? (meant[0] ?? null) : null
}

function isAtTop(issue: Issue): boolean {
  return issue.path.length === 0 && (issue.code === 'invalid_type' || issue.code === 'invalid_value')
}

function paramsOf(issue: Issue): { rule?: string; found?: string; expected?: string; hint?: string | null } {
  if (issue.code === 'custom') return issue.params ?? {}
  return issue.message === notYet ? { hint: notYet } : {}
}

function hintFor(value: unknown, issue: Issue, path: ConfigPath): string | null {
  if (issue.code === 'invalid_value' && typeof value === 'string') {
    const near = nearest(value, issue.values.map(String))
    return near === null ? null : `did you mean ${near}?`
  }
  const isText = issue.code === 'invalid_type' && issue.expected === 'string'
  if (!isText || (typeof value !== 'number' && typeof value !== 'boolean')) return null
  return `in quotes it is text: ${shown(String(value), path)}`
}

/** All forms that what stands at `path` may have. */
function partsAt(shape: Shape, path: ConfigPath): Shape[] {
  let parts = [shape]
  for (const part of path) {
    parts = parts
      .flatMap(one => [one, ...(one.anyOf ?? [])])
      .map(one => {
        if (typeof part === 'number') return one.items
        if (one.properties && Object.hasOwn(one.properties, part)) return one.properties[part]
        return typeof one.additionalProperties === 'object' ? one.additionalProperties : undefined
      })
      .filter(one => one !== undefined)
  }
  return parts
}

function knownKeys(shape: Shape, path: ConfigPath, others: readonly string[] = []): string[] {
  const forms = partsAt(shape, path).flatMap(one => [one, ...(one.anyOf ?? [])])
  const own = forms.flatMap(one => Object.entries(one.properties ?? {}).filter(([, value]) => !value.not))
  return [...new Set([...(path.length === 0 ? others : []), ...own.map(([key]) => key)])]
}

const typeWords: Record<string, string> = {
  string: 'text',
  object: 'a mapping',
  array: 'a list',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  null: 'null',
}

/** '' = the shape does not say. */
function expectedOf(shape: Shape): string {
  if (shape.description) return shape.description
  if (shape.const !== undefined) return String(shape.const)
  if (shape.enum) return orList(shape.enum.map(String))
  if (shape.anyOf) return orList([...new Set(shape.anyOf.map(expectedOf).filter(text => text !== ''))])
  const { minimum, maximum, minItems, maxItems } = shape
  if (minimum !== undefined && maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER) {
    return `a whole number from ${minimum} to ${maximum}`
  }
  if (minItems !== undefined) return `a list of at least ${minItems}`
  if (maxItems !== undefined) return `a list of at most ${maxItems}`
  return typeWords[shape.type ?? ''] ?? ''
}

function valueAt(value: unknown, path: ConfigPath): unknown {
  let at: unknown = value
  for (const part of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return undefined
    at = (at as Record<string | number, unknown>)[part]
  }
  return at
}
