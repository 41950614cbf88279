import type { Selection } from '../../flow/select.ts'
import type { ClusterView, Part, TopicId } from '../../ports/kafka.ts'

export type UnitPlan = Part & { topicId: TopicId; destinationId: TopicId }
export type Units = {
  /** Selected topics of the source, in order of names. */
  topics: string[]
  units: UnitPlan[]
  /** Selected, but the destination has no such topic, or not that partition (M-23, M-24). */
  missing: Part[]
}

/** A unit is one partition of the source, under its name there (M-1). */
export function unitsOf(source: ClusterView, destination: ClusterView, selected: Selection): Units {
  const there = new Map(destination.topics.filter(t => t.code === 0).map(t => [t.topic, t]))
  const found: Units = { topics: [], units: [], missing: [] }
  for (const topic of selectedTopics(source, selected)) {
    found.topics.push(topic.topic)
    const target = there.get(topic.topic)
    const partitions = new Set(target?.partitions.map(p => p.partition))
    for (const { partition } of topic.partitions) {
      const part = { topic: topic.topic, partition }
      if (!target || !partitions.has(partition)) found.missing.push(part)
      else found.units.push({ ...part, topicId: topic.topicId, destinationId: target.topicId })
    }
  }
  return found
}

export function selectedTopics(source: ClusterView, selected: Selection): ClusterView['topics'] {
  return source.topics
    .filter(t => t.code === 0 && selected(t.topic, t.internal).selected)
    .sort((a, b) => (a.topic < b.topic ? -1 : 1))
}
