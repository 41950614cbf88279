import type { Buffer } from 'node:buffer'
import type { TopicId } from '../../ports/kafka.ts'

/** Where a destination topic comes from, as a flow writes it down at the destination (MIRROR §3.3). */
export type Provenance = {
  flow: string
  /** The destination's name of the topic. */
  topic: string
  /** The source's name and id of it. */
  src: string
  sourceId: TopicId
  /** Cluster ids: the source, and all that the records have come through, it included. */
  from: string
  via: readonly string[]
  /** 1 + the highest partition that has had a checkpoint (M-70). */
  parts: number
  /** Names of the settings that we have set at the destination (M-25). */
  set: readonly string[]
  /** It has copied before, and waits again for its turn; with `parts` 0 it has not had one yet (M-21). */
  claims: boolean
  /** Milliseconds since 1970 at which the topic left the flow; null = it is copied (M-74). */
  endedMs: number | null
}

/** What a record says of `topic`: null = nothing any more. */
export type ProvenanceSeen = { topic: string; provenance: Provenance | null }

/** Compaction compares bytes: no spaces, this order of keys. */
export function provenanceKey(topic: string): string {
  return JSON.stringify({ k: 'topic', t: topic })
}

/** The value of MIRROR §3.3; its topic is in the key. */
export function provenanceText(of: Provenance): string {
  const { flow, src, sourceId, from, via, parts, set, claims, endedMs } = of
  const more = { ...(claims ? { claims } : {}), ...(endedMs === null ? {} : { ended: endedMs }) }
  return JSON.stringify({ v: 1, flow, src, t: sourceId, from, via, parts, set, ...more })
}

/** Null: not ours, as if the record were not there. Fields that we do not know are passed over. */
export function provenanceFrom(key: Buffer | null, value: Buffer | null): ProvenanceSeen | null {
  const name = fieldsOf(key)
  if (name?.['k'] !== 'topic' || typeof name['t'] !== 'string') return null
  const topic = name['t']
  if (value === null) return { topic, provenance: null }
  const { v, flow, src, t, from, via, parts, set, claims, ended } = fieldsOf(value) ?? {}
  if (v !== 1 || !isText(flow) || !isText(src) || !isText(t) || !isText(from)) return null
  if (!areTexts(via) || !areTexts(set) || !isCount(parts)) return null
  const endedMs = isCount(ended) ? ended : null
  return {
    topic,
    provenance: { flow, topic, src, sourceId: t, from, via, parts, set, claims: claims === true, endedMs },
  }
}

/** Whether a record of the one would say what a record of the other says. */
export function sameProvenance(a: Provenance, b: Provenance): boolean {
  return a.topic === b.topic && provenanceText(a) === provenanceText(b)
}

/** Whether it copies, or may begin to at any moment; else it only asks to. */
export function holds({ parts, claims, endedMs }: Provenance): boolean {
  return parts > 0 && !claims && endedMs === null
}

export type LoopFacts = {
  /** Cluster ids. */
  destinationId: string
  sourceId: string
  /** The source's name of the topic, and the destination's. */
  topic: string
  destination: string
  /** Our own record of it at the destination, null = none yet. */
  ours: Provenance | null
  /** It is being copied, whatever our record says yet. */
  isRunning: boolean
  /** All that was read at the source, of every flow that writes there. */
  upstream: readonly Provenance[]
}

/** `rival`: a flow that finds us as we find it, and has to give way; it may not know yet. */
export type LoopFound =
  | { loop: true; via: readonly string[]; flow: string }
  | { loop: false; rival: { flow: string } | null }

/**
 * The loop guard (M-21): whether records that `topic` has at the source came through the destination. `via` and `flow`
 * are those of the flow that brought them. Of two flows of which each finds the other one gives way: the one that only
 * asks to copy when the other holds the topic, else the one whose source's cluster id is the greater string
 * (docs/decisions/0007). In a circle of any length at least one stops, and one stays. One whose copy has a name that
 * the other does not read is not found by it, and stops: with prefixes both ways each round would make longer names.
 */
export function loopCheck(how: LoopFacts): LoopFound {
  const behind = livesOf(how.upstream, how.topic).filter(one => one.via.includes(how.destinationId))
  const before = behind.find(one => !staysBefore(how, one))
  if (before) return { loop: true, via: before.via, flow: before.flow }
  const [rival] = behind
  return { loop: false, rival: rival ? { flow: rival.flow } : null }
}

function staysBefore({ ours, isRunning, sourceId, destinationId, destination }: LoopFacts, other: Provenance): boolean {
  if (other.from === destinationId && other.src !== destination) return false
  const isSmaller = sourceId < other.from
  const isHeld = ours !== null && holds(ours)
  return holds(other) ? isHeld && isSmaller : isHeld || isRunning || isSmaller
}

/**
 * `via` of a topic copied from this source: what its records came through before, then the source (MIRROR §3.3). The
 * destination tells nothing to who reads there, and would come and go with each flow that asks to copy back.
 */
export function viaOf(
  { sourceId, destinationId }: { sourceId: string; destinationId: string },
  topic: string,
  upstream: readonly Provenance[],
): string[] {
  const before = new Set(livesOf(upstream, topic).flatMap(one => one.via))
  before.delete(destinationId)
  before.delete(sourceId)
  return [...before, sourceId]
}

/** By what was read, and topic: each topic of a flow is asked about several times a second, among those of all flows. */
const byTopic = new WeakMap<readonly Provenance[], Map<string, Provenance[]>>()

/** Those that still copy to a topic. */
function livesOf(upstream: readonly Provenance[], topic: string): readonly Provenance[] {
  let lives = byTopic.get(upstream)
  if (!lives) {
    lives = Map.groupBy(
      upstream.filter(one => one.endedMs === null),
      one => one.topic,
    )
    byTopic.set(upstream, lives)
  }
  return lives.get(topic) ?? []
}

function fieldsOf(bytes: Buffer | null): Record<string, unknown> | null {
  if (bytes === null) return null
  try {
    const found: unknown = JSON.parse(bytes.toString('utf8'))
    return typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : null
  } catch {
    return null
  }
}

function isText(of: unknown): of is string {
  return typeof of === 'string'
}

function areTexts(of: unknown): of is string[] {
  return Array.isArray(of) && of.every(isText)
}

function isCount(of: unknown): of is number {
  return Number.isSafeInteger(of) && (of as number) >= 0
}
