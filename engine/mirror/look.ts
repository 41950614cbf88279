import type { LookContext, SteerContext } from '../flow/contract.ts'
import type { FlowEvent } from '../flow/event.ts'
import type { Overlay } from '../flow/overlay.ts'
import type { TopicRules } from '../flow/select.ts'
import { unitName } from '../flow/unitName.ts'
import { within } from '../flow/within.ts'
import { configsLookMs, performTimeoutMs, topicGoneLooks } from '../limits.ts'
import type { ClusterView, Entry, KafkaCluster, TopicConfig, TopicView } from '../ports/kafka.ts'
import { configChanges } from './decide/configChanges.ts'
import { type DestinationNames, destinationNames } from './decide/destinationNames.ts'
import { guardOf } from './decide/planTopics.ts'
import type { Provenance } from './decide/provenance.ts'
import { selected as selectedBy } from './decide/selected.ts'
import { offsetsIn } from './groupOffsets.ts'
import { type ProvenanceRead, provenanceTopicName, readProvenance } from './provenanceTopic.ts'
import type { MirrorSpec } from './spec.ts'

export type Configs = {
  atMs: number
  source: ReadonlyMap<string, TopicConfig[]>
  destination: ReadonlyMap<string, TopicConfig[]>
}

/** What the leader of a mirror knows of both clusters (M-5). Topics are by their source names unless said. */
export type MirrorLook = {
  source: ClusterView
  destination: ClusterView
  /** What `topics` was selected by. */
  by: { rules: TopicRules; overlay: Overlay['topics'] }
  /** Selected and there, or absent for less than three looks (M-14): then as they were last seen. */
  topics: ReadonlyMap<string, TopicView>
  /** Looks in a row in which a selected topic was absent, and when the last of them was counted. */
  absent: ReadonlyMap<string, number>
  absentMs: ReadonlyMap<string, number>
  names: DestinationNames
  /** Committed offsets of the flow's group, by unit; since when they have stood, on the monotonic clock. */
  offsets: ReadonlyMap<string, Entry & { sinceMs: number | null }>
  /** Provenance of this flow, by destination topic; null with `loopGuard: off`. */
  ours: ReadonlyMap<string, Provenance> | null
  upstream: readonly Provenance[]
  /** By topic: who asks to copy it the other way round and has to give way, and since when both do (M-21). */
  rivals: ReadonlyMap<string, { flow: string; sinceMs: number }>
  read: { ours: ProvenanceRead; upstream: ProvenanceRead } | null
  configs: Configs
}

/** Reads what `steer` and `units` must know, in this order: our own provenance before that of the source (M-21). */
export async function lookAtClusters(
  spec: MirrorSpec,
  ctx: LookContext,
  before: MirrorLook | null,
): Promise<MirrorLook> {
  const from = ctx.kafka(spec.from)
  const to = ctx.kafka(spec.to)
  const [source, destination] = await Promise.all([from.admin.look('all'), to.admin.look('all')])
  const group = `millrace.${ctx.flow}`
  const entries = await within(ctx, performTimeoutMs, offsetsIn(group), signal =>
    from.checkpoints.load(group, 'all', signal),
  )
  const read = spec.loopGuard === 'off' ? null : await provenance({ ctx, from, to, source, destination, before })
  const ours = read && byTopic(read.ours, ctx.flow)
  const known = before?.topics ?? (ctx.untilEnd ? new Map() : writtenDown(ours, source))
  const { topics, absent, absentMs, gone } = selectedTopics(spec, source, { known, look: before }, ctx)
  const existing = new Set(destination.topics.filter(t => t.code === 0).map(t => t.topic))
  const sameCluster = source.clusterId !== '' && source.clusterId === destination.clusterId
  const by = { rules: spec.topics, overlay: ctx.overlay.topics }
  const selected = selectedBy(by.rules, by.overlay)
  const names = destinationNames([...topics.keys()], spec.naming, existing, sameCluster ? selected : null)
  const configs = await configsOf(spec, { ctx, from, to, names, existing, ours, before })
  // Not before all is known: a look that fails is done again from where it began, and would tell again.
  for (const event of gone) ctx.tell(event)
  const upstream = read ? [...read.upstream.records.values()] : []
  const seen = { source, destination, by, topics, absent, absentMs, names, ours, upstream, read, configs }
  const nowMs = ctx.clock.nowMs()
  return { ...seen, offsets: offsetsOf(entries, nowMs, before), rivals: rivalsOf(seen, nowMs, before) }
}

function rivalsOf(
  look: Omit<MirrorLook, 'offsets' | 'rivals'>,
  nowMs: number,
  before: MirrorLook | null,
): MirrorLook['rivals'] {
  const rivals = new Map<string, { flow: string; sinceMs: number }>()
  if (look.ours === null) return rivals
  for (const [topic, destination] of look.names.names) {
    const found = guardOf(look, topic, false)
    // Before we have asked ourselves nobody gives way to us.
    if (found.loop || found.rival === null || look.ours.get(destination)?.endedMs !== null) continue
    const { flow } = found.rival
    const known = before?.rivals.get(topic)
    rivals.set(topic, { flow, sinceMs: known?.flow === flow ? known.sinceMs : nowMs })
  }
  return rivals
}

/** What this flow has copied from, by its provenance: a process that begins misses what was deleted while none ran (M-14). */
function writtenDown(ours: MirrorLook['ours'], source: ClusterView): Map<string, TopicView> {
  const topics = new Map<string, TopicView>()
  for (const { src, sourceId, from, parts, endedMs } of ours?.values() ?? []) {
    if (endedMs !== null || from !== source.clusterId) continue
    const partitions = Array.from({ length: parts }, (_, partition) => ({
      partition,
      leader: -1,
      leaderEpoch: -1,
      code: 0,
    }))
    topics.set(src, { topic: src, topicId: sourceId, internal: false, code: 0, partitions })
  }
  return topics
}

/** A topic that is not there is kept as it was for some looks: a broker that has just started may not know it yet. */
function selectedTopics(
  spec: MirrorSpec,
  source: ClusterView,
  before: { known: ReadonlyMap<string, TopicView>; look: MirrorLook | null },
  ctx: LookContext,
): Pick<MirrorLook, 'topics' | 'absent' | 'absentMs'> & { gone: FlowEvent[] } {
  const gone: FlowEvent[] = []
  const selected = selectedBy(spec.topics, ctx.overlay.topics)
  const topics = new Map<string, TopicView>()
  const absent = new Map<string, number>()
  const absentMs = new Map<string, number>()
  const nowMs = ctx.clock.nowMs()
  const there = new Map(source.topics.map(t => [t.topic, t]))
  for (const t of source.topics) {
    if (!selected(t.topic, t.internal).selected) continue
    // An answer with an error does not count, neither way.
    const known = t.code === 0 ? t : before.known.get(t.topic)
    if (known) topics.set(t.topic, known)
  }
  for (const [topic, known] of before.known) {
    if (there.has(topic) || !selected(topic, known.internal).selected) continue
    const countedMs = before.look?.absentMs.get(topic) ?? null
    // Each chore that is done looks again: those looks are one, as long as no refresh has passed.
    const isCounted = countedMs === null || nowMs - countedMs >= spec.topics.refreshMs
    const looks = (before.look?.absent.get(topic) ?? 0) + (isCounted ? 1 : 0)
    if (isCounted && looks === topicGoneLooks) {
      const message = `${topic}: the source topic was deleted; what was copied of it stays`
      gone.push({ code: 'source-topic-deleted', message, topic, partitions: known.partitions.length })
    }
    // A copy until the end answers for all that it found at its start.
    if (looks >= topicGoneLooks && !ctx.untilEnd) continue
    topics.set(topic, known)
    absent.set(topic, looks)
    absentMs.set(topic, isCounted ? nowMs : countedMs)
  }
  return { topics: new Map([...topics].sort(([a], [b]) => (a < b ? -1 : 1))), absent, absentMs, gone }
}

function offsetsOf(entries: readonly Entry[], nowMs: number, before: MirrorLook | null): MirrorLook['offsets'] {
  return new Map(
    entries.map(entry => {
      const old = before?.offsets.get(unitName(entry))
      // At the first look nobody knows how long it has stood.
      const sinceMs = before === null ? null : old?.offset === entry.offset ? old.sinceMs : nowMs
      return [unitName(entry), { ...entry, sinceMs }]
    }),
  )
}

async function provenance(how: {
  ctx: SteerContext
  from: KafkaCluster
  to: KafkaCluster
  source: ClusterView
  destination: ClusterView
  before: MirrorLook | null
}): Promise<NonNullable<MirrorLook['read']>> {
  const { ctx, from, to, source, destination, before } = how
  const { codec, clock, signal } = ctx
  const reading = { codec, clock, signal }
  const own = [provenanceTopicName(ctx.flow)]
  const ours = await readProvenance(to, destination, own, before?.read?.ours ?? null, reading)
  const upstream = await readProvenance(from, source, 'all', before?.read?.upstream ?? null, reading)
  return { ours, upstream }
}

function byTopic(read: ProvenanceRead, flow: string): ReadonlyMap<string, Provenance> {
  return new Map([...read.records.values()].filter(p => p.flow === flow).map(p => [p.topic, p]))
}

/** Each minute, and for topics of which nothing is known, or that were to be changed by now (M-25). */
async function configsOf(
  spec: MirrorSpec,
  how: {
    ctx: SteerContext
    from: KafkaCluster
    to: KafkaCluster
    names: DestinationNames
    existing: ReadonlySet<string>
    ours: MirrorLook['ours']
    before: MirrorLook | null
  },
): Promise<Configs> {
  const nowMs = how.ctx.clock.nowMs()
  const old = how.before?.configs ?? null
  const fresh = old !== null && nowMs - old.atMs < configsLookMs
  const { create, config } = spec.destination
  const named = [...how.names.names]
  const sources = named.filter(([, to]) => config.sync || (create && !how.existing.has(to))).map(([topic]) => topic)
  const targets = config.sync || create ? named.map(([, to]) => to).filter(to => how.existing.has(to)) : []
  const missing = (names: string[], known: ReadonlyMap<string, unknown> | undefined) =>
    fresh ? names.filter(name => !known?.has(name)) : names
  const [source, destination] = await Promise.all([
    asked(how.from, missing(sources, old?.source)),
    asked(how.to, [...new Set([...missing(targets, old?.destination), ...toChange(spec, old, how)])]),
  ])
  if (!fresh) return { atMs: nowMs, source, destination }
  return {
    atMs: old.atMs,
    source: new Map([...old.source, ...source]),
    destination: new Map([...old.destination, ...destination]),
  }
}

/** Destination topics whose settings were not those of the source when they were read. */
function toChange(
  spec: MirrorSpec,
  old: Configs | null,
  { names, existing, ours }: { names: DestinationNames; existing: ReadonlySet<string>; ours: MirrorLook['ours'] },
): string[] {
  const { config } = spec.destination
  const found: string[] = []
  for (const [topic, name] of names.names) {
    const source = old?.source.get(topic)
    const destination = old?.destination.get(name)
    if (!source || !destination || !existing.has(name)) continue
    const { set, unset } = configChanges({ source, destination, remembered: ours?.get(name)?.set ?? [], config })
    if (unset.length > 0 || Object.keys(set).length > 0) found.push(name)
  }
  return found
}

async function asked(cluster: KafkaCluster, topics: string[]): Promise<Map<string, TopicConfig[]>> {
  return topics.length === 0 ? new Map() : await cluster.admin.topicConfigs(topics)
}
