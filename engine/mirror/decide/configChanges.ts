import type { RE2JS } from 're2js'
import { compile } from '../../flow/pattern.ts'
import type { TopicConfig } from '../../ports/kafka.ts'
import type { MirrorSpec } from '../spec.ts'

type SyncRules = MirrorSpec['destination']['config']
/** `remembered` = settings of the destination topic that we set, for its provenance (MIRROR §3.3), sorted. */
export type ConfigChanges = { set: Record<string, string>; unset: string[]; remembered: string[] }

const batchLimit = 'max.message.bytes'
/** Kafka's default of `max.message.bytes`; that of the destination is not known before the topic is there. */
const batchLimitDefaultBytes = 1_048_588

/**
 * What makes the settings of the destination topic those of the source topic (M-25). `source` and `destination` are
 * all settings of both: an empty list means that nothing is set there, not that nothing could be read.
 * Throws `config-invalid` for a pattern of `exclude` that cannot be read.
 */
export function configChanges(how: {
  source: readonly TopicConfig[]
  destination: readonly TopicConfig[]
  remembered: readonly string[]
  config: SyncRules
}): ConfigChanges {
  const { config } = how
  if (!config.sync) return { set: {}, unset: [], remembered: [...how.remembered] }
  const wanted = wantedOf(how.source, config)
  const atSource = new Map(how.source.map(one => [one.name, one]))
  const there = new Map(how.destination.map(one => [one.name, one]))
  const ours = new Set(how.remembered)
  const set: [string, string][] = []
  for (const [name, value] of wanted) {
    const now = there.get(name)
    // What it only inherits it has as long as nobody changes the default, though we may have written the name down. A
    // broker that does not tell what is set on a topic is sent it again, later and later (`repeatsOf`).
    const isSet = now?.onTopic === true && sameValue(now.value, value)
    if (!isSet) set.push([name, value])
  }
  const unset: string[] = []
  const kept: string[] = []
  for (const name of ours) {
    if (wanted.has(name)) kept.push(name)
    else if (isExcluded(name, config)) continue
    else if (isStillNeeded(atSource.get(name))) kept.push(name)
    else if (there.get(name)?.onTopic) unset.push(name)
  }
  const remembered = [...new Set([...kept, ...set.map(([name]) => name)])]
  return { set: Object.fromEntries(set), unset: unset.sort(), remembered: remembered.sort() }
}

/** The settings that a topic is created with, by M-25; all of them are ours (`remembered`). Throws as `configChanges` does. */
export function creationConfigs(source: readonly TopicConfig[], config: SyncRules): Record<string, string> {
  const wanted = wantedOf(source, config)
  const limit = source.find(one => one.name === batchLimit)
  if (largeBatches(limit) && !wanted.has(batchLimit) && !isExcluded(batchLimit, config)) {
    wanted.set(batchLimit, limit.value)
  }
  return Object.fromEntries(wanted)
}

/** Settings, `name=value`, by which the destination changes bytes or times of what it is sent (M-26). */
export function rewriteWarnings(destination: readonly TopicConfig[]): string[] {
  const effective = (name: string) => destination.find(one => one.name === name)?.value ?? null
  const compression = effective('compression.type')
  const times = effective('message.timestamp.type')
  return [
    ...(compression === null || compression === 'producer' ? [] : [`compression.type=${compression}`]),
    ...(times === 'LogAppendTime' ? [`message.timestamp.type=${times}`] : []),
  ]
}

/** What the destination topic should have set. The value of a secret is not told to us: it is null. */
function wantedOf(source: readonly TopicConfig[], config: SyncRules): Map<string, string> {
  const wanted = new Map<string, string>()
  for (const { name, value, onTopic } of source) {
    if (onTopic && value !== null && !isExcluded(name, config)) wanted.set(name, value)
  }
  for (const [name, value] of Object.entries(config.override)) wanted.set(name, value)
  return wanted
}

/**
 * What we set once, may not set now, and yet leave: a secret of the source, and the batch limit that a topic was
 * created with, for without it the source's large batches would be refused.
 */
function isStillNeeded(one: TopicConfig | undefined): boolean {
  return one?.onTopic === true || largeBatches(one)
}

function largeBatches(one: TopicConfig | undefined): one is TopicConfig & { value: string } {
  return one?.name === batchLimit && one.value !== null && Number(one.value) > batchLimitDefaultBytes
}

/** By list of patterns: it is the same for every topic in every round. */
const compiled = new WeakMap<readonly string[], RE2JS[]>()

/** `override` speaks before `exclude`; an excluded setting is neither set nor unset by us. */
function isExcluded(name: string, config: SyncRules): boolean {
  let patterns = compiled.get(config.exclude)
  if (!patterns) {
    patterns = config.exclude.map(pattern => compile(pattern, 'destination.config.exclude', 'M-25'))
    compiled.set(config.exclude, patterns)
  }
  return patterns.some(pattern => pattern.testExact(name))
}

/** Brokers give back what they have read: `delete, compact` as `delete,compact`, `TRUE` as `true`, `0.50` as `0.5`. */
function sameValue(one: string | null, other: string): boolean {
  return one !== null && read(one) === read(other)
}

function read(value: string): string {
  const text = value.trim().replaceAll(/\s*,\s*/g, ',')
  if (/^(true|false)$/i.test(text)) return text.toLowerCase()
  if (/^-?\d+$/.test(text)) return String(BigInt(text))
  return /^-?\d*\.\d+$/.test(text) ? String(Number(text)) : text
}
