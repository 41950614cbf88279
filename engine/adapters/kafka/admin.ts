import { backOffMs, linkBackOff } from '../../limits.ts'
import type { ClusterAdmin, ClusterView, Part } from '../../ports/kafka.ts'
import type { Cluster } from './cluster.ts'
import { classify } from './decide/classify.ts'
import { listOffsetsApi } from './frames/listOffsets.ts'
import type { MetadataAnswer } from './frames/metadata.ts'
import type { TopicAdmin } from './topicAdmin.ts'

/** Tries for partitions whose leader has just moved, before their number is given back. */
const offsetTriesMax = 6

type Found = Part & { offset: bigint | null; code: number }

/** What the leader asks of a cluster (KAFKA-CLIENT W-77): metadata and offsets by our frames, topics by kafkajs. */
export function clusterAdmin(cluster: Cluster, topics: TopicAdmin): ClusterAdmin {
  return {
    look: async names => viewOf(await cluster.look(names)),
    offsets: (parts, at) => offsetsOf(cluster, parts, at),
    createTopic: topics.createTopic,
    topicConfigs: topics.topicConfigs,
  }
}

function viewOf(answer: MetadataAnswer): ClusterView {
  return {
    clusterId: answer.clusterId ?? '',
    brokers: answer.brokers,
    topics: answer.topics.map(t => ({
      topic: t.topic ?? '',
      topicId: t.topicId,
      internal: t.internal,
      code: t.error,
      partitions: t.partitions.map(p => ({
        partition: p.partition,
        leader: p.leader,
        leaderEpoch: p.leaderEpoch,
        code: p.error,
      })),
    })),
  }
}

async function offsetsOf(
  cluster: Cluster,
  parts: Part[],
  at: Parameters<ClusterAdmin['offsets']>[1],
): Promise<Found[]> {
  const found = new Map<string, Found>()
  let open = parts
  for (let tries = 1; open.length > 0; tries++) {
    const leaders = await leadersOf(cluster, open)
    const answers = await Promise.all([...leaders].map(([broker, of]) => askLeader(cluster, broker, of, at)))
    for (const one of answers.flat()) found.set(`${one.topic}/${one.partition}`, one)
    open = open.filter(part => {
      const one = found.get(`${part.topic}/${part.partition}`)
      return one === undefined || ['leader', 'again'].includes(classify('other', one.code))
    })
    if (open.length === 0 || tries > offsetTriesMax) break
    await new Promise<void>(resolve => cluster.clock.after(backOffMs(linkBackOff, tries, cluster.chance), resolve))
  }
  return parts.map(part => found.get(`${part.topic}/${part.partition}`) ?? { ...part, offset: null, code: 3 })
}

/** Metadata asked for now, so that the answer is of the present leaders. */
async function leadersOf(cluster: Cluster, parts: Part[]): Promise<Map<number, Part[]>> {
  const view = await cluster.look([...new Set(parts.map(part => part.topic))])
  const leaders = new Map<string, number>()
  for (const t of view.topics) for (const p of t.partitions) leaders.set(`${t.topic}/${p.partition}`, p.leader)
  const by = new Map<number, Part[]>()
  for (const part of parts) {
    const leader = leaders.get(`${part.topic}/${part.partition}`) ?? -1
    if (leader >= 0) by.set(leader, [...(by.get(leader) ?? []), part])
  }
  return by
}

async function askLeader(
  cluster: Cluster,
  broker: number,
  parts: Part[],
  at: Parameters<ClusterAdmin['offsets']>[1],
): Promise<Found[]> {
  const timeMs = at === 'start' ? -2n : at === 'stable' || at === 'end' ? -1n : BigInt(at.timeMs)
  const topics = new Map<
    string,
    { topic: string; partitions: { partition: number; leaderEpoch: number; timeMs: bigint }[] }
  >()
  for (const { topic, partition } of parts) {
    const there = topics.get(topic) ?? { topic, partitions: [] }
    there.partitions.push({ partition, leaderEpoch: -1, timeMs })
    topics.set(topic, there)
  }
  const question = { isolation: at === 'stable' ? 1 : 0, topics: [...topics.values()] } as const
  const answer = await cluster.askBroker(broker, listOffsetsApi, question)
  return answer.topics.flatMap(t =>
    t.partitions.map(p => ({
      topic: t.topic,
      partition: p.partition,
      offset: p.error === 0 && p.offset >= 0n ? p.offset : null,
      code: p.error,
    })),
  )
}
