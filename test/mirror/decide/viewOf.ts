import type { View } from '../../../engine/flow/contract.ts'
import { noOverlay } from '../../../engine/flow/overlay.ts'
import { unitName } from '../../../engine/flow/unitName.ts'
import { checkpointText } from '../../../engine/mirror/decide/checkpointMetadata.ts'
import type { Provenance } from '../../../engine/mirror/decide/provenance.ts'
import type { MirrorLook } from '../../../engine/mirror/look.ts'
import { type MirrorSpec, mirrorSpec } from '../../../engine/mirror/spec.ts'
import type { ClusterView, TopicConfig, TopicView } from '../../../engine/ports/kafka.ts'

/** A topic of so many partitions; those in `leaderless` have no leader. */
type TopicOf = { topic: string; partitions: number; topicId?: string; code?: number; leaderless?: number[] }
type OffsetOf = { topic: string; partition: number; sourceId?: string; destinationId?: string; sinceMs?: number | null }

/** What differs from a mirror `flow` of nothing, from cluster `east-id` to `west-id`, seen at 100 h. */
export type ViewOf = {
  source?: TopicOf[]
  destination?: TopicOf[]
  /** Of source topics; the others keep theirs. */
  names?: Record<string, string>
  refused?: Record<string, string>
  offsets?: OffsetOf[]
  /** Null: no loop guard. */
  ours?: Provenance[] | null
  upstream?: Provenance[]
  rivals?: MirrorView['rivals']
  absent?: Record<string, number>
  configs?: { source?: Record<string, TopicConfig[]>; destination?: Record<string, TopicConfig[]> }
  owned?: string[]
  aside?: MirrorView['aside']
}
export type MirrorView = View<MirrorLook>

export const seenAtMs = 100 * 60 * 60 * 1_000
export const wallMs = 1_700_000_000_000

export function viewOf(of: ViewOf): MirrorView {
  const source = (of.source ?? []).map(topicView)
  const names = new Map(source.map(({ topic }) => [topic, of.names?.[topic] ?? topic]))
  for (const topic of Object.keys(of.refused ?? {})) names.delete(topic)
  return {
    source: clusterView('east-id', source),
    destination: clusterView('west-id', (of.destination ?? []).map(topicView)),
    by: { rules: { include: [], exclude: [], names: [] }, overlay: new Map() },
    topics: new Map(source.map(topic => [topic.topic, topic])),
    absentMs: new Map(),
    absent: new Map(Object.entries(of.absent ?? {})),
    names: {
      names,
      refused: new Map(
        Object.entries(of.refused ?? {}).map(([topic, message]) => [topic, { message, hint: 'rename it' }]),
      ),
    },
    offsets: new Map(
      (of.offsets ?? []).map(({ topic, partition, sourceId, destinationId, sinceMs }) => {
        const ids = { sourceId: sourceId ?? `${topic}-id`, destinationId: destinationId ?? `${topic}-id` }
        const metadata = checkpointText({ ...ids, epoch: -1, destinationNext: null })
        const entry = { topic, partition, offset: 10n, epoch: -1, metadata }
        return [unitName(entry), { ...entry, sinceMs: sinceMs === undefined ? seenAtMs : sinceMs }]
      }),
    ),
    ours: of.ours === null ? null : new Map((of.ours ?? []).map(one => [one.topic, one])),
    upstream: of.upstream ?? [],
    rivals: of.rivals ?? new Map(),
    read: null,
    configs: {
      atMs: seenAtMs,
      source: new Map(Object.entries(of.configs?.source ?? {})),
      destination: new Map(Object.entries(of.configs?.destination ?? {})),
    },
    flow: 'flow',
    nowMs: seenAtMs,
    wallMs,
    epoch: 1,
    overlay: noOverlay,
    owned: new Set(of.owned ?? []),
    aside: of.aside ?? new Map(),
  }
}

/** What the flow has written down of a topic. */
export function ours(topic: string, more: Partial<Provenance> = {}): Provenance {
  const via = { from: 'east-id', via: ['east-id'] }
  return {
    flow: 'flow',
    topic,
    src: topic,
    sourceId: `${topic}-id`,
    ...via,
    parts: 0,
    set: [],
    claims: false,
    endedMs: null,
    ...more,
  }
}

/** What the flow `back` from the destination has written down at the source: its records came from there. */
export function back(topic: string, more: Partial<Provenance> = {}): Provenance {
  return ours(topic, { flow: 'back', from: 'west-id', via: ['west-id'], parts: 1, ...more })
}

/** Of `more` as it stands in a file. */
export function specOf(more: Record<string, unknown> = {}): MirrorSpec {
  return mirrorSpec.parse({ from: 'east', to: 'west', topics: { include: ['.*'] }, ...more })
}

function topicView({ topic, partitions, topicId, code, leaderless }: TopicOf): TopicView {
  return {
    topic,
    topicId: topicId ?? `${topic}-id`,
    internal: false,
    code: code ?? 0,
    partitions: Array.from({ length: partitions }, (_, partition) => ({
      partition,
      leader: leaderless?.includes(partition) ? -1 : 1,
      leaderEpoch: 0,
      code: 0,
    })),
  }
}

function clusterView(clusterId: string, topics: TopicView[]): ClusterView {
  return { clusterId, brokers: [], topics }
}
