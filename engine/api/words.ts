import { z } from 'zod'
import { decodeRanges } from '../fleet/decide/ranges.ts'
import { bodyFaultsMax, rangeNumbersMax } from '../limits.ts'

/** The words of bodies, queries and answers that several routes share. */

export const flowPattern = /^[a-z0-9][a-z0-9-]{0,62}$/
export const idPattern = /^[A-Za-z0-9_-]{1,64}$/
const topicPattern = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}$/
const partitionMax = 2 ** 31 - 1

export function isTopic(name: string): boolean {
  return topicPattern.test(name)
}

/** `0`, `17`: as a path says it; null: no number of a partition. */
export function partitionOf(text: string): number | null {
  const n = /^(0|[1-9]\d{0,9})$/.test(text) ? Number(text) : Number.NaN
  return n <= partitionMax ? n : null
}

function say(payload: z.core.ParsePayload, expected: string, path: PropertyKey[] = []): void {
  if (payload.issues.length >= bodyFaultsMax) return
  payload.issues.push({ code: 'custom', input: payload.value, path, params: { expected }, continue: true })
}

/** What is by name: read into a Map, so that `__proto__` is a name like any other (C-121). */
export function byName<T>(
  value: z.ZodType<T>,
  of: { name: RegExp; expected: string },
): z.ZodType<ReadonlyMap<string, T>> {
  const json = { type: 'object', additionalProperties: jsonSchemaOf(value) }
  return z
    .custom<object>(given => typeof given === 'object' && given !== null && !Array.isArray(given), {
      params: { expected: 'an object' },
    })
    .transform((given, payload) => {
      const found = new Map<string, T>()
      let numbers = 0
      for (const [name, inner] of Object.entries(given)) {
        if (!of.name.test(name)) say(payload, of.expected, [name])
        const result = value.safeParse(inner)
        if (Array.isArray(result.data)) numbers += result.data.length
        if (numbers > rangeNumbersMax) {
          say(payload, `at most ${rangeNumbersMax} partitions in all`)
          break
        }
        if (result.success) found.set(name, result.data)
        else
          for (const issue of result.error.issues)
            payload.issues.push({ ...issue, path: [name, ...issue.path] } as z.core.$ZodRawIssue)
      }
      return found
    })
    .meta(json)
}

export function byTopic<T>(value: z.ZodType<T>): z.ZodType<ReadonlyMap<string, T>> {
  return byName(value, { name: topicPattern, expected: 'the name of a topic' })
}

export function jsonSchemaOf(schema: z.ZodType, io: 'input' | 'output' = 'input'): Record<string, unknown> {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  return json
}

/** `"0-3,7"` as numbers; strict, as in documents (C-31). */
export const ranges = z
  .string()
  .transform((text, payload): readonly number[] => {
    try {
      const numbers = decodeRanges(text)
      if (numbers.length > 0) return numbers
    } catch {
      // Said below, in the words of a body.
    }
    say(payload, 'partitions such as "0-3,7": ascending, runs as a-b')
    return []
  })
  .meta({ type: 'string', description: 'partitions, such as "0-3,7"' })

/** `'*'`: all partitions of the topic. */
export const allOrRanges = z
  .string()
  .transform((text, payload): '*' | readonly number[] => {
    if (text === '*') return text
    const result = ranges.safeParse(text)
    if (result.success) return result.data
    say(payload, '"*" or partitions such as "0-3,7"')
    return []
  })
  .meta({ type: 'string', description: '"*", or partitions such as "0-3,7"' })

export const topicName = z.string().check(payload => {
  if (!topicPattern.test(payload.value)) say(payload, 'the name of a topic: 1 to 249 of A-Z a-z 0-9 . _ -')
})

/** An offset, or a count of records: a decimal text above 2⁵³. */
export const offset = z.union([z.int().min(0), z.string().regex(/^(0|[1-9]\d{0,18})$/)])
export const offsetOrNull = offset.nullable()

export const fault = z.strictObject({ code: z.string(), message: z.string(), hint: z.string().nullable() })

/** Of every answer: who led, and as of when it is true (C-101). */
const frame = { leader: z.string().nullable(), epoch: z.int().nullable(), asOf: z.iso.datetime() }

export function answer<T extends z.core.$ZodLooseShape>(shape: T) {
  return z.strictObject({ ...frame, ...shape })
}

/** A write that asks nothing but to be done. */
export const nothing = z.strictObject({})
