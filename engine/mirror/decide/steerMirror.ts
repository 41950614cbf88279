import { asideKey, type View } from '../../flow/contract.ts'
import { partOf, unitName } from '../../flow/unitName.ts'
import { actionTopicsMax, checkpointAgainMs, firstStartsMax } from '../../limits.ts'
import type { ConfigChange, Entry, TopicConfig } from '../../ports/kafka.ts'
import type { MirrorLook } from '../look.ts'
import type { MirrorSpec } from '../spec.ts'
import { configChanges, creationConfigs } from './configChanges.ts'
import {
  hasCheckpoint,
  isFirst,
  loopOf,
  oursOf,
  partsOf,
  planTopics,
  rivalOf,
  type TopicPlan,
  wasCopied,
} from './planTopics.ts'
import { holds, type Provenance, sameProvenance, viaOf } from './provenance.ts'

/** A partition that begins: nothing is stored of it. */
export type StartPlan = {
  topic: string
  partition: number
  topicId: string
  destinationId: string
  /** The id that the topic had when it was copied before, when it is another one now; else null. */
  oldId: string | null
}
export type MirrorAction =
  | { do: 'provenance'; records: Provenance[] }
  | {
      do: 'createTopic'
      topics: { topic: string; partitions: number; replicas: number; configs: Record<string, string> }[]
    }
  | { do: 'growTopic'; topics: { topic: string; partitions: number }[] }
  | { do: 'commitStarts'; parts: StartPlan[]; first: boolean; units: string[] }
  | { do: 'commitAgain'; entries: Entry[]; units: string[] }
  | { do: 'syncConfigs'; changes: ConfigChange[] }
type Looked = View<MirrorLook>

/** What the leader of a mirror has to do now, the most urgent first (M-5). */
export function steerMirror(spec: MirrorSpec, view: Looked): MirrorAction[] {
  if (view.deleting) return lastOf(view)
  const plans = planTopics(spec, view)
  const actions: MirrorAction[] = []
  const records = provenanceToWrite(spec, view, plans)
  if (records.length > 0) actions.push({ do: 'provenance', records })
  if (spec.destination.create) actions.push(...topicsToMake(spec, view, plans))
  const parts = startsOf(view, plans)
  if (parts.length > 0) {
    const units = parts.map(unitName)
    actions.push({ do: 'commitStarts', parts, first: isFirst(view), units })
  }
  const entries = entriesToCommitAgain(view, plans)
  if (entries.length > 0) actions.push({ do: 'commitAgain', entries, units: entries.map(unitName) })
  if (spec.destination.config.sync) {
    const changes = changesOf(spec, view, plans).slice(0, actionTopicsMax)
    if (changes.length > 0) actions.push({ do: 'syncConfigs', changes })
  }
  return actions
}

/** A flow that is asked to go lets others have its topics, when nothing of it runs any more (M-74, C-90). */
function lastOf(view: Looked): MirrorAction[] {
  const records = view.owned.size > 0 ? [] : endedOf(view)
  return records.length > 0 ? [{ do: 'provenance', records }] : []
}

/** One record for each topic, as it should be (M-21); `ended` when it has left the flow or is refused. */
function provenanceToWrite(spec: MirrorSpec, view: Looked, plans: TopicPlan[]): Provenance[] {
  if (view.ours === null) return []
  const wanted: Provenance[] = []
  for (const plan of plans) {
    const source = view.topics.get(plan.topic)
    if (!source || !view.names.names.has(plan.topic)) continue
    const ours = oursOf(view, plan.topic)
    const loop = loopOf(view, plan.topic) !== null
    // One that was never written of a topic that may not be copied says nothing.
    if (plan.refused && !loop) continue
    if (loop && (ours === null || ours.endedMs !== null)) continue
    const from = view.source.clusterId
    const stored = source.partitions.filter(p => hasCheckpoint(view, source, p.partition)).map(p => p.partition + 1)
    const parts = Math.max(partsOf(view, source) ?? 0, ...stored)
    // The old id is what tells that the topic was made anew, until the new one has its starts.
    const isLive = ours !== null && ours.endedMs === null
    const mayHold = isLive && (holds(ours) || rivalOf(view, plan.topic) === null)
    const sourceId = parts === 0 && (ours?.parts ?? 0) > 0 ? (ours?.sourceId ?? source.topicId) : source.topicId
    const counted = sourceId === source.topicId ? parts : (ours?.parts ?? 0)
    wanted.push({
      flow: view.flow,
      topic: plan.destination,
      src: plan.topic,
      sourceId,
      from,
      via: viaOf({ sourceId: from, destinationId: view.destination.clusterId }, plan.topic, view.upstream),
      parts: counted,
      set: setOf(spec, view, plan, ours?.set ?? []),
      claims: counted > 0 && !mayHold && !loop,
      endedMs: loop ? view.wallMs : null,
    })
  }
  const named = new Set([...wanted.map(one => one.topic), ...plans.map(plan => plan.destination)])
  wanted.push(...endedOf(view).filter(one => !named.has(one.topic)))
  return wanted.filter(one => {
    const ours = view.ours?.get(one.topic)
    return !ours || !sameProvenance(ours, one)
  })
}

/** Live records as they are when their topics leave the flow. One of which a unit still runs has not left yet. */
function endedOf(view: Looked): Provenance[] {
  const runs = new Set([...view.owned].map(unit => partOf(unit).topic))
  const left = [...(view.ours?.values() ?? [])].filter(one => one.endedMs === null && !runs.has(one.src))
  return left.map(one => ({ ...one, claims: false, endedMs: view.wallMs }))
}

/** What we are about to set is remembered before it is set, so that a crash between the two forgets nothing (M-25). */
function setOf(spec: MirrorSpec, view: Looked, plan: TopicPlan, remembered: readonly string[]): readonly string[] {
  const change = changeOf(spec, view, plan, remembered)
  if (change === null) return remembered
  return [
    ...new Set([
      ...remembered.filter(name => change.remembered.includes(name) || change.unset.includes(name)),
      ...change.remembered,
    ]),
  ].sort()
}

function topicsToMake(spec: MirrorSpec, view: Looked, plans: TopicPlan[]): MirrorAction[] {
  const create: (MirrorAction & { do: 'createTopic' })['topics'] = []
  const grow: (MirrorAction & { do: 'growTopic' })['topics'] = []
  for (const { topic, destination, target, partitions, refused } of plans) {
    if (refused || !isOurTurn(view, topic) || view.absent.has(topic)) continue
    const count = Math.max(...partitions.map(p => p.partition)) + 1
    if (target === null) {
      const source = view.configs.source.get(topic)
      if (!source || view.aside.has(asideKey('createTopic', destination)) || wasCopied(view, topic)) continue
      const configs = creationConfigs(source, spec.destination.config)
      create.push({ topic: destination, partitions: count, replicas: spec.destination.replicationFactor, configs })
    } else if (target.partitions.length < count && !view.aside.has(asideKey('growTopic', destination))) {
      grow.push({ topic: destination, partitions: count })
    }
  }
  const actions: MirrorAction[] = []
  if (create.length > 0) actions.push({ do: 'createTopic', topics: create.slice(0, actionTopicsMax) })
  if (grow.length > 0) actions.push({ do: 'growTopic', topics: grow.slice(0, actionTopicsMax) })
  return actions
}

/** Our claim is written down: what we see at the source now is newer than it (M-21). */
function isGuarded(view: Looked, topic: string): boolean {
  if (view.ours === null) return true
  const ours = oursOf(view, topic)
  return ours !== null && ours.endedMs === null
}

/** Nothing is made at the destination before the loop check of the topic has passed (M-21). */
function isOurTurn(view: Looked, topic: string): boolean {
  return isGuarded(view, topic) && !oursOf(view, topic)?.claims && rivalOf(view, topic) === null
}

/** All first ones together, also those whose topic is not at the destination yet: a later one would be no first. */
function startsOf(view: Looked, plans: TopicPlan[]): StartPlan[] {
  const first = isFirst(view)
  const isMade = (is: string) => is === 'start' || (first && is === 'waiting')
  const parts: StartPlan[] = []
  for (const { topic, topicId, target, partitions, refused } of plans) {
    if (refused || !isGuarded(view, topic) || view.absent.has(topic)) continue
    const ours = oursOf(view, topic)
    const oldId = ours && ours.parts > 0 && ours.sourceId !== topicId ? ours.sourceId : null
    for (const { partition, is } of partitions) {
      const unit = unitName({ topic, partition })
      if (!isMade(is) || view.offsets.has(unit) || view.aside.has(asideKey('commitStarts', unit))) continue
      parts.push({ topic, partition, topicId, destinationId: target?.topicId ?? '', oldId })
    }
  }
  // Nothing of a first start may wait for another: it goes when at least one could run.
  if (first && !plans.some(plan => plan.partitions.some(p => p.is === 'start'))) return []
  return first ? parts : parts.slice(0, firstStartsMax)
}

/** Of those that nobody owns (M-43): their owner does it for itself. */
function entriesToCommitAgain(view: Looked, plans: TopicPlan[]): Entry[] {
  const entries: Entry[] = []
  for (const { topic, partitions } of plans) {
    const source = view.topics.get(topic)
    if (!source || view.absent.has(topic)) continue
    for (const { partition } of partitions) {
      const unit = unitName({ topic, partition })
      const entry = view.offsets.get(unit)
      if (!entry || view.owned.has(unit) || !hasCheckpoint(view, source, partition)) continue
      if (entry.sinceMs !== null && view.nowMs - entry.sinceMs < checkpointAgainMs) continue
      const { sinceMs: _, ...stored } = entry
      entries.push(stored)
    }
  }
  return entries.slice(0, firstStartsMax)
}

function changesOf(spec: MirrorSpec, view: Looked, plans: TopicPlan[]): ConfigChange[] {
  return plans.flatMap(plan => {
    if (plan.refused || !isOurTurn(view, plan.topic) || view.aside.has(asideKey('syncConfigs', plan.destination)))
      return []
    const change = changeOf(spec, view, plan, oursOf(view, plan.topic)?.set ?? [])
    if (change === null || (Object.keys(change.set).length === 0 && change.unset.length === 0)) return []
    return [{ topic: plan.destination, set: change.set, unset: change.unset }]
  })
}

function changeOf(spec: MirrorSpec, view: Looked, plan: TopicPlan, remembered: readonly string[]) {
  const source: TopicConfig[] | undefined = view.configs.source.get(plan.topic)
  const destination = view.configs.destination.get(plan.destination)
  if (!spec.destination.config.sync || !source || !destination || !plan.target) return null
  return configChanges({ source, destination, remembered, config: spec.destination.config })
}
