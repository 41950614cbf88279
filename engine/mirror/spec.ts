import { z } from 'zod'
import { MillraceError } from '../errors.ts'
import { compile } from '../flow/pattern.ts'
import type { Gaps, Start } from '../flow/position.ts'
import { neverSelected, type TopicRules } from '../flow/select.ts'
import { checkpointIntervalMs, patternsMax, topicsRefreshMs } from '../limits.ts'
import type { Isolation } from '../ports/kafka.ts'
import { namingOf } from './decide/destinationNames.ts'

/** How source topics are called at the destination (M-20). */
export type Naming = 'identity' | { prefix: string } | { rename: { match: string; to: string }[] }

/** A mirror flow (MIRROR §2), with every default filled in. */
export type MirrorSpec = {
  /** Names of clusters. */
  from: string
  to: string
  topics: TopicRules & { refreshMs: number }
  naming: Naming
  loopGuard: 'topic' | 'off'
  isolation: Isolation
  start: Start
  gaps: Gaps
  destination: {
    create: boolean
    /** −1 = the destination's default. */
    replicationFactor: number
    config: { sync: boolean; override: Record<string, string>; exclude: readonly string[] }
  }
  compression: 'keep' | 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd'
  checkpoint: { intervalMs: number }
  fetch: { rack: string | null }
}

const notYet = 'not in this version'
/** A key of the design that this version does not have. */
const later = z.never({ error: notYet }).optional()

/** What a check says of a value: read by whoever makes faults of issues. */
type Said = { rule: string; expected: string; hint: string | null }
type Asked<T> = z.core.ParsePayload<T>

function say<T>(payload: Asked<T>, said: Said, path: PropertyKey[] = []): void {
  const message = said.hint === null ? `expected ${said.expected}` : `expected ${said.expected}: ${said.hint}`
  payload.issues.push({ code: 'custom', input: payload.value, path, params: said, message, continue: true })
}

/** What a `config-invalid` says beside place, value and rule, which a fault has of its own. */
function reasonOf(error: unknown): string {
  if (!(error instanceof MillraceError)) throw error
  const reason = error.message.replace(/^.*?: (?:'.*' is no RE2 pattern: )?/s, '').replace(/ \([A-Z]-\d+\)$/, '')
  return error.hint === null ? reason : `${reason}; ${error.hint}`
}

const pattern = (rule: 'M-10' | 'M-25') =>
  z
    .string()
    .min(1)
    .check(payload => {
      try {
        compile(payload.value, '', rule)
      } catch (error) {
        say(payload, { rule, expected: 'an RE2 pattern', hint: reasonOf(error) })
      }
    })
    .describe('an RE2 pattern')
const patterns = z.array(pattern('M-10')).max(patternsMax)

const topicName = z
  .string()
  .check(payload => {
    const name = payload.value
    if (!/^[A-Za-z0-9._-]{1,249}$/.test(name) || name === '.' || name === '..') {
      const hint = /[\\*()[\]|^$+?]/.test(name) ? 'a pattern belongs in topics.include' : null
      say(payload, { rule: 'M-20', expected: 'the name of a topic: 1 to 249 of A-Z a-z 0-9 . _ -', hint })
    } else if (neverSelected(name)) {
      say(payload, { rule: 'M-11', expected: 'a topic that may be copied', hint: 'it is reserved, also when named' })
    }
  })
  .describe('the name of a topic')

const topics = z
  .strictObject({
    include: patterns.default([]),
    exclude: patterns.default([]),
    names: z.array(topicName).default([]),
    refreshMs: z.int().min(1_000).max(600_000).default(topicsRefreshMs),
  })
  .refine(({ include, names }) => !(isEmpty(include) && isEmpty(names)), {
    when: ({ value }) => typeof value === 'object' && value !== null && !Array.isArray(value),
    params: { rule: 'M-10', expected: 'topics.include or topics.names', hint: 'as in: include: ["clicks\\\\..*"]' },
    error: 'topics.include or topics.names is needed (M-10)',
  })
  .describe('a mapping with include or names')

/** Also of what did not pass its own schema: then it is not known to be empty. */
function isEmpty(list: unknown): boolean {
  return list === undefined || (Array.isArray(list) && list.length === 0)
}

const rename = z
  .strictObject({ match: z.string().min(1).describe('an RE2 pattern'), to: z.string().min(1) })
  .check(payload => {
    try {
      namingOf({ rename: [payload.value] })
    } catch (error) {
      const path = error instanceof MillraceError && error.message.includes('].to:') ? 'to' : 'match'
      const expected = path === 'to' ? 'a name with $1 to $9 for groups of match' : 'an RE2 pattern'
      say(payload, { rule: 'M-20', expected, hint: reasonOf(error) }, [path])
    }
  })
const prefix = z.string().regex(/^[A-Za-z0-9._-]{1,248}$/)

const oneForm = 'identity, {prefix: TEXT} or {rename: [{match: PATTERN, to: NAME}]}'
const naming = z
  .union([
    z.literal('identity'),
    z.strictObject({
      prefix: prefix.describe('1 to 248 of A-Z a-z 0-9 . _ -').optional(),
      rename: z.array(rename).min(1).max(patternsMax).optional(),
    }),
  ])
  .check(payload => {
    const { value } = payload
    if (payload.issues.length > 0) return
    if (value !== 'identity' && (value.prefix === undefined) === (value.rename === undefined)) {
      say(payload, { rule: 'M-20', expected: oneForm, hint: null })
    }
  })
  .transform((value): Naming => {
    if (value === 'identity') return value
    return value.prefix === undefined ? { rename: value.rename ?? [] } : { prefix: value.prefix }
  })
  .describe(oneForm)

const start = z
  .union([z.enum(['earliest', 'latest']), z.strictObject({ timeMs: z.int().min(0), after: later })])
  .transform((value): Start => (typeof value === 'string' ? value : { timeMs: value.timeMs }))
  .describe('earliest, latest or {timeMs: MILLISECONDS}')

/** A setting as the broker takes it: as text. What has lost digits on the way from the file is not what was written. */
const setting = z
  .union([z.string(), z.boolean(), z.number().refine(n => !Number.isInteger(n) || Number.isSafeInteger(n))])
  .transform(String)
  .describe('a setting: text, a number below 2^53, true or false')

/** Kafka's and others' settings that belong to one cluster (MIRROR §2). */
const settingsOfOneCluster = [
  '(follower|leader)\\.replication\\.throttled\\.replicas',
  'message\\.timestamp\\..*',
  'unclean\\.leader\\.election\\.enable',
  'min\\.insync\\.replicas',
  'remote\\..*',
  'local\\.retention\\..*',
  'confluent\\..*',
]

const destination = z.strictObject({
  create: z.boolean().default(true),
  replicationFactor: z
    .int()
    .min(-1)
    .max(32_767)
    .refine(n => n !== 0)
    .describe('-1 for the default of the destination, or 1 to 32767')
    .default(-1),
  config: z
    .strictObject({
      sync: z.boolean().default(true),
      override: z.record(z.string().min(1), setting).default({}),
      exclude: z.array(pattern('M-25')).max(patternsMax).default(settingsOfOneCluster),
    })
    .prefault({}),
})

const cluster = z.string().min(1).describe('the name of a cluster')

/**
 * Reads one entry of `flows:` without the words that all kinds have. The value also has `delivery`, of which this
 * version has one kind only (M-41). Keys of the design that are not built are refused with "not in this version".
 */
export const mirrorSpec: z.ZodType<MirrorSpec> = z
  .strictObject({
    from: cluster,
    to: cluster,
    topics,
    naming: naming.default('identity'),
    loopGuard: z.enum(['topic', 'off']).default('topic'),
    delivery: z
      .literal('at-least-once', { error: issue => (issue.input === 'exactly-once' ? notYet : undefined) })
      .default('at-least-once'),
    isolation: z.enum(['read_committed', 'read_uncommitted']).default('read_committed'),
    start: start.default('earliest'),
    gaps: z.enum(['continue', 'stop']).default('continue'),
    destination: destination.prefault({}),
    compression: z.enum(['keep', 'none', 'gzip', 'snappy', 'lz4', 'zstd']).default('keep'),
    checkpoint: z.strictObject({ intervalMs: z.int().min(100).max(60_000).default(checkpointIntervalMs) }).prefault({}),
    fetch: z.strictObject({ rack: z.string().min(1).nullable().default(null) }).prefault({}),
    throttle: later,
    offsetSync: later,
    groups: later,
    transaction: later,
  })
  .refine(({ from, to, naming }) => from !== to || naming !== 'identity' || typeof from !== 'string', {
    when: ({ value }) => typeof value === 'object' && value !== null && !Array.isArray(value),
    path: ['to'],
    params: { rule: 'M-21', expected: 'another cluster, or a naming', hint: 'in one cluster every name must change' },
    error: 'source and destination are the same cluster, and no name changes (M-21)',
  })
