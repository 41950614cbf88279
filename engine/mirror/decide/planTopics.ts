import type { Fault } from '../../errors.ts'
import { asideKey, type View } from '../../flow/contract.ts'
import { stoppedHint } from '../../flow/position.ts'
import { partOf, unitName } from '../../flow/unitName.ts'
import { firstStartsMax, rivalWaitMs } from '../../limits.ts'
import type { TopicId, TopicView } from '../../ports/kafka.ts'
import type { MirrorLook } from '../look.ts'
import type { MirrorSpec } from '../spec.ts'
import { checkpointFrom } from './checkpointMetadata.ts'
import { type LoopFound, loopCheck, type Provenance } from './provenance.ts'
import { goOnElsewhere, goOnInNew } from './remedy.ts'
import { selected } from './selected.ts'

export type PartitionPlan = {
  partition: number
  /** `start`: only its start is not committed yet. */
  is: 'ready' | 'start' | 'waiting' | 'error' | 'refused'
  why: Fault | null
}
export type TopicPlan = {
  topic: string
  topicId: TopicId
  /** Its name at the destination; the source's when it has none. */
  destination: string
  /** Null: not there. */
  target: TopicView | null
  partitions: PartitionPlan[]
  /** None of it may be copied (M-93, `refused`). */
  refused: Fault | null
}
type Looked = View<MirrorLook>

/** What stands between each selected partition and its copy (M-5, M-20 to M-24, M-70), in order of names. */
export function planTopics(spec: MirrorSpec, view: Looked): TopicPlan[] {
  const targets = new Map(view.destination.topics.filter(t => t.code === 0).map(t => [t.topic, t]))
  const tooMany = tooManyStarts(spec, view)
  return [...topicsNow(spec, view)].map(source => {
    const destination = view.names.names.get(source.topic) ?? source.topic
    const target = targets.get(destination) ?? null
    const refused = tooMany ?? refusal(spec, view, source)
    const plan: TopicPlan = {
      topic: source.topic,
      topicId: source.topicId,
      destination,
      target,
      partitions: [],
      refused,
    }
    for (const { partition } of source.partitions) {
      const found = refused ? ({ is: 'refused', why: refused } as const) : partitionPlan(spec, view, plan, partition)
      plan.partitions.push({ partition, ...found })
    }
    return plan
  })
}

/** The look may be older than the spec, or than what people have put out since: what has left stops at once (M-13). */
function topicsNow(spec: MirrorSpec, { topics, by, overlay }: Looked): Iterable<TopicView> {
  if (by.rules === spec.topics && by.overlay === overlay.topics) return topics.values()
  const isTaken = selected(spec.topics, overlay.topics)
  return topics.values().filter(({ topic, internal }) => isTaken(topic, internal).selected)
}

/** Every unit by that look, ready or not. */
export function partitionsOf(spec: MirrorSpec, view: Looked): string[] {
  return [...topicsNow(spec, view)].flatMap(({ topic, partitions }) =>
    partitions.map(({ partition }) => unitName({ topic, partition })),
  )
}

function refusal(spec: MirrorSpec, view: Looked, source: TopicView): Fault | null {
  const named = view.names.refused.get(source.topic)
  if (named) return { code: 'config-invalid', ...named }
  if (view.ours === null) return null
  const loop = loopOf(view, source.topic)
  if (loop === null) return null
  const hint = `exclude the topic, or give it another name with a prefix such as ${spec.from}. (naming, --naming); a flow that will not come back is left out of the guard by loopGuard: off`
  return { code: 'mirror-loop', message: `${source.topic}: ${loop}`, hint }
}

/** The path that records of this topic have come, when it leads through the destination (M-21); null = it does not. */
export function loopOf(view: Looked, topic: string): string | null {
  const found = guardOf(view, topic, isRunning(view, topic))
  if (!found.loop) return null
  return `its records came by flow ${found.flow} over ${found.via.join(' → ')} to the source ${view.source.clusterId}, and the destination is ${view.destination.clusterId}`
}

/** What the loop guard says of a source topic. */
export function guardOf(
  look: Pick<MirrorLook, 'source' | 'destination' | 'names' | 'ours' | 'upstream'>,
  topic: string,
  isRunning: boolean,
): LoopFound {
  return loopCheck({
    destinationId: look.destination.clusterId,
    sourceId: look.source.clusterId,
    topic,
    destination: look.names.names.get(topic) ?? topic,
    ours: oursOf(look, topic),
    isRunning,
    upstream: look.upstream,
  })
}

function isRunning(view: Looked, topic: string): boolean {
  const partitions = view.topics.get(topic)?.partitions ?? []
  return partitions.some(({ partition }) => view.owned.has(unitName({ topic, partition })))
}

/**
 * The flow that has to give way to us, until it has written that down (M-21): it may have begun before it could see
 * us. One that does nothing for so long is dead, or cannot begin.
 */
export function rivalOf(view: Looked, topic: string): string | null {
  const rival = view.rivals.get(topic)
  return rival && view.nowMs - rival.sinceMs < rivalWaitMs ? rival.flow : null
}

/** Our record of a source topic; null = none. */
export function oursOf(view: Pick<MirrorLook, 'names' | 'ours'>, topic: string): Provenance | null {
  const destination = view.names.names.get(topic)
  const found = destination === undefined ? undefined : view.ours?.get(destination)
  return found?.src === topic ? found : null
}

/** 1 + the highest partition of this topic id that has had a checkpoint; null = it has had none (M-70). */
export function partsOf(view: Looked, source: { topic: string; topicId: TopicId }): number | null {
  const ours = oursOf(view, source.topic)
  if (ours === null || ours.parts === 0) return null
  return ours.sourceId === source.topicId ? ours.parts : null
}

function partitionPlan(
  spec: MirrorSpec,
  view: Looked,
  plan: TopicPlan,
  partition: number,
): Omit<PartitionPlan, 'partition'> {
  const { topic, target } = plan
  const unit = unitName({ topic, partition })
  // It runs: what it meets it says itself.
  if (view.owned.has(unit)) return { is: 'ready', why: null }
  if (view.absent.has(topic)) {
    return waiting({ code: 'source-missing', message: `${topic}: the source has no such topic now`, hint: null }, '')
  }
  const set = view.aside.get(asideKey('provenance')) ?? null
  const ours = oursOf(view, topic)
  const rival = rivalOf(view, topic)
  if (rival !== null) {
    const message = `${topic}: flow ${rival} asks to copy it the other way round, and is waited for until it gives way`
    return waiting({ code: 'mirror-loop', message, hint: null }, '')
  }
  if (view.ours !== null && (ours === null || ours.endedMs !== null || ours.claims))
    return waiting(set, 'the loop guard is being written')
  const of = target?.partitions.find(p => p.partition === partition)
  if (!target || !of) return missing(spec, view, plan, partition)
  if (of.leader < 0) {
    return waiting(
      { code: 'kafka-unreachable', message: `${unit}: the destination has no leader for it`, hint: null },
      '',
    )
  }
  const entry = view.offsets.get(unit)
  if (entry) return { is: 'ready', why: null }
  const parts = partsOf(view, plan)
  if (parts !== null && partition < parts) return { is: 'error', why: checkpointLost(view, unit) }
  if (spec.gaps === 'stop' && parts === null && (ours?.parts ?? 0) > 0) {
    const message = `${unit}: the source topic was deleted and made anew, and the flow says to stop`
    return { is: 'error', why: { code: 'topic-recreated', message, hint: stoppedHint } }
  }
  return {
    is: 'start',
    why: view.aside.get(asideKey('commitStarts', unit)) ?? view.aside.get(asideKey('commitStarts')) ?? null,
  }
}

function waiting(fault: Fault | null, message: string): Omit<PartitionPlan, 'partition'> {
  return { is: 'waiting', why: fault ?? { code: 'destination-missing', message, hint: null } }
}

function missing(spec: MirrorSpec, view: Looked, plan: TopicPlan, partition: number): Omit<PartitionPlan, 'partition'> {
  const { destination, target } = plan
  if (target === null && wasCopied(view, plan.topic)) {
    const message = `${destination}: the destination topic was deleted after it was copied to, or naming has changed; it is not made by itself`
    const hint = goOnInNew({ flow: view.flow, topic: plan.topic })
    return waiting({ code: 'destination-missing', message, hint }, '')
  }
  const isGrown = target !== null
  const aside = view.aside.get(asideKey(isGrown ? 'growTopic' : 'createTopic', destination)) ?? null
  const what = isGrown ? `has no partition ${partition} of ${destination}` : `has no topic ${destination}`
  if (spec.destination.create) return waiting(aside, `the destination ${what} yet: it is being made`)
  const hint = isGrown ? 'raise its partitions there, or let the flow do it' : 'create it there, or let the flow do it'
  return waiting(
    { code: 'destination-missing', message: `the destination ${what}`, hint: `${hint}: destination.create` },
    '',
  )
}

function checkpointLost(view: Looked, unit: string): Fault {
  const group = `millrace.${view.flow}`
  const message = `${unit}: it was copied before, and its committed offset in group ${group} of the source is gone`
  const hint = `find out who deleted it; then set it: ${goOnElsewhere({ flow: view.flow, ...partOf(unit) })}`
  return { code: 'checkpoint-lost', message, hint }
}

/** M-70: all first starts are one commit, so that a crash leaves all or none. */
function tooManyStarts(spec: MirrorSpec, view: Looked): Fault | null {
  if (spec.start === 'earliest' || !isFirst(view)) return null
  const count = [...topicsNow(spec, view)].reduce((sum, topic) => sum + topic.partitions.length, 0)
  if (count <= firstStartsMax) return null
  const message = `${count} partitions begin at once with a start other than earliest; at most ${firstStartsMax} can (M-70)`
  return { code: 'config-invalid', message, hint: 'make two flows' }
}

/** Nothing of this flow has an offset or a part yet (M-70). */
export function isFirst(view: Looked): boolean {
  if (view.offsets.size > 0) return false
  return [...(view.ours?.values() ?? [])].every(one => one.parts === 0)
}

/** A checkpoint names the topic at the destination that it was copied to. */
export function wasCopied(view: Looked, topic: string): boolean {
  const partitions = view.topics.get(topic)?.partitions ?? []
  return partitions.some(({ partition }) => {
    const entry = view.offsets.get(unitName({ topic, partition }))
    return entry !== undefined && (checkpointFrom(entry.metadata)?.destinationId ?? '') !== ''
  })
}

/** Offsets of this topic id, or of no known one. */
export function hasCheckpoint(view: Looked, source: TopicView, partition: number): boolean {
  const entry = view.offsets.get(unitName({ topic: source.topic, partition }))
  if (!entry) return false
  const id = checkpointFrom(entry.metadata)?.sourceId ?? ''
  return id === '' || source.topicId === '' || id === source.topicId
}
