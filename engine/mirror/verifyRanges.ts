import { MillraceError } from '../errors.ts'
import { otherTopic } from '../flow/position.ts'
import { unitName } from '../flow/unitName.ts'
import type { ClusterAdmin, Entry, KafkaCluster, Part, TopicConfig, TopicId, TopicView } from '../ports/kafka.ts'
import { checkpointFrom } from './decide/checkpointMetadata.ts'
import { namingOf } from './decide/destinationNames.ts'
import type { Naming } from './spec.ts'

/** What of a partition is read on both sides; offsets of the source and of the destination, ends not included. */
export type VerifyRange = Part & {
  /** Its topic at the destination (M-20). */
  destination: string
  sourceTopicId: TopicId
  destinationTopicId: TopicId
  sourceFrom: bigint
  /** The checkpoint, or the end where none is stored: up to here the destination must have it all. */
  sourceTo: bigint
  sourceEnd: bigint
  sourceStart: bigint
  destinationStart: bigint
  destinationEnd: bigint
  compacted: boolean
}

export type RangesHow = {
  source: KafkaCluster
  destination: KafkaCluster
  topics: string[]
  naming: Naming
  group: string
  sinceOffset: bigint | null
}

/**
 * The ranges of all partitions of the source, in the order of `topics`. First the checkpoints are read, then the ends
 * of the destination, then those of the source: so the destination's range holds all below the checkpoint, and the
 * source's all that the destination's holds, while the mirror goes on. Rejects with a MillraceError.
 */
export async function verifyRanges(how: RangesHow, signal: AbortSignal): Promise<VerifyRange[]> {
  const { topics } = how
  if (topics.length === 0) return []
  const nameOf = namingOf(how.naming)
  const copyOf = ({ topic, partition }: Part): Part => ({ topic: nameOf(topic), partition })
  const [sources, destinations] = await Promise.all([
    how.source.admin.look(topics).then(view => byName(view.topics)),
    how.destination.admin.look(topics.map(nameOf)).then(view => byName(view.topics)),
  ])
  const parts = topics.flatMap(topic => partsOf(sources.get(topic)))
  if (parts.length === 0) return []
  const there = parts.map(copyOf).filter(({ topic, partition }) => {
    return destinations.get(topic)?.partitions.some(p => p.partition === partition) ?? false
  })
  const checkpoints = keyed(await how.source.checkpoints.load(how.group, parts, signal))
  const destination = await logsOf(how.destination.admin, there)
  const source = await logsOf(how.source.admin, parts)
  const compacted = await compactedTopics(how, nameOf, destinations)
  return parts.map(part => {
    const sourceTopicId = sources.get(part.topic)?.topicId ?? ''
    const log = source.get(unitName(part)) ?? noLog
    const copy = copyOf(part)
    const at = destination.get(unitName(copy)) ?? noLog
    const since = how.sinceOffset ?? 0n
    const sourceFrom = since > log.start ? since : log.start
    return {
      ...part,
      destination: copy.topic,
      sourceTopicId,
      destinationTopicId: destinations.get(copy.topic)?.topicId ?? '',
      sourceFrom,
      sourceTo: checkpointOf(checkpoints.get(unitName(part)), sourceTopicId, log.end),
      sourceEnd: log.end,
      sourceStart: sourceFrom,
      destinationStart: at.start,
      destinationEnd: at.end,
      compacted: compacted.has(part.topic),
    }
  })
}

type Log = { start: bigint; end: bigint }
const noLog: Log = { start: 0n, end: 0n }

async function logsOf(admin: ClusterAdmin, parts: Part[]): Promise<Map<string, Log>> {
  if (parts.length === 0) return new Map()
  const [starts, ends] = await Promise.all([admin.offsets(parts, 'start'), admin.offsets(parts, 'stable')])
  return new Map(
    parts.map((part, i) => {
      const start = starts[i]?.offset ?? null
      const end = ends[i]?.offset ?? null
      if (start === null || end === null) {
        const message = `the offsets of ${unitName(part)} cannot be read (Kafka's error ${starts[i]?.code || ends[i]?.code})`
        throw new MillraceError('kafka-unreachable', message, { retryable: true })
      }
      return [unitName(part), { start, end }]
    }),
  )
}

/** One of another topic of the same name says nothing (M-15). */
function checkpointOf(entry: Entry | undefined, topicId: TopicId, end: bigint): bigint {
  if (!entry || entry.offset < 0n || otherTopic(checkpointFrom(entry.metadata)?.sourceId ?? '', topicId)) return end
  return entry.offset < end ? entry.offset : end
}

/** By source names: one side is enough. */
async function compactedTopics(
  how: RangesHow,
  nameOf: (topic: string) => string,
  destinations: Map<string, TopicView>,
): Promise<Set<string>> {
  const there = how.topics.filter(topic => destinations.has(nameOf(topic)))
  const [source, destination] = await Promise.all([
    how.source.admin.topicConfigs(how.topics),
    there.length > 0 ? how.destination.admin.topicConfigs(there.map(nameOf)) : new Map<string, TopicConfig[]>(),
  ])
  const isCompacted = (configs: readonly TopicConfig[] | undefined) =>
    configs?.find(config => config.name === 'cleanup.policy')?.value?.includes('compact') ?? false
  return new Set(how.topics.filter(t => isCompacted(source.get(t)) || isCompacted(destination.get(nameOf(t)))))
}

function byName(topics: TopicView[]): Map<string, TopicView> {
  return new Map(topics.filter(topic => topic.code === 0).map(topic => [topic.topic, topic]))
}

function partsOf(topic: TopicView | undefined): Part[] {
  const parts = topic?.partitions.map(({ partition }) => ({ topic: topic.topic, partition })) ?? []
  return parts.toSorted((a, b) => a.partition - b.partition)
}

function keyed<T extends Part>(entries: T[]): Map<string, T> {
  return new Map(entries.map(entry => [unitName(entry), entry]))
}
