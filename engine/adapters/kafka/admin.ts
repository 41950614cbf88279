import { MillraceError } from '../../errors.ts'
import { adminTimeoutMs, backOffMs, linkBackOff } from '../../limits.ts'
import type { ClusterAdmin, ClusterView, Part } from '../../ports/kafka.ts'
import { alterTopicConfigs } from './alterTopicConfigs.ts'
import type { Cluster } from './cluster.ts'
import { classify } from './decide/classify.ts'
import { listOffsetsApi } from './frames/listOffsets.ts'
import type { MetadataAnswer } from './frames/metadata.ts'
import type { TopicAdmin } from './topicAdmin.ts'

/** Tries for partitions whose leader has just moved, before their number is given back. */
const offsetTriesMax = 6
const invalidPartitions = 37

type Found = Part & { offset: bigint | null; code: number }

/** What the leader asks of a cluster (KAFKA-CLIENT W-77): metadata and offsets by our frames, topics by kafkajs. */
export function clusterAdmin(cluster: Cluster, topics: TopicAdmin): ClusterAdmin {
  return {
    look: async names => viewOf(await inTime(cluster, 'Metadata', cluster.look(names))),
    offsets: (parts, at) => inTime(cluster, 'ListOffsets', offsetsOf(cluster, parts, at)),
    createTopic: (...how) => inTime(cluster, 'CreateTopics', created(cluster, topics, how)),
    growTopic: (topic, partitions) => inTime(cluster, 'CreatePartitions', grown(cluster, topics, topic, partitions)),
    topicConfigs: topics.topicConfigs,
    alterTopicConfigs: changes => inTime(cluster, 'IncrementalAlterConfigs', alterTopicConfigs(cluster, changes)),
  }
}

/** To create what exists is success (W-77). */
async function created(
  cluster: Cluster,
  topics: TopicAdmin,
  how: Parameters<ClusterAdmin['createTopic']>,
): Promise<void> {
  if (await topics.createTopic(...how)) await untilLed(cluster, how[0], how[1])
}

/** To grow to what is there, or to less, is success (W-77). */
async function grown(cluster: Cluster, topics: TopicAdmin, topic: string, partitions: number): Promise<void> {
  try {
    await topics.growTopic(topic, partitions)
  } catch (error) {
    // The broker has one number for all that is wrong with a count.
    if (!(error instanceof MillraceError) || error.kafka !== invalidPartitions) throw error
    const there = (await cluster.look([topic])).topics[0]?.partitions.length ?? 0
    if (there < partitions) throw error
  }
  await untilLed(cluster, topic, partitions)
}

/** W-77: a broker that hangs holds a login for 20 s and a request for 30, and there may be many brokers. */
function inTime<T>(cluster: Cluster, what: string, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = cluster.clock.after(adminTimeoutMs, () => {
      const message = `${cluster.name}: ${what}: no broker answers within ${adminTimeoutMs} ms`
      reject(new MillraceError('kafka-unreachable', message, { retryable: true }))
    })
    work.then(resolve, reject).finally(cancel)
  })
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

/** A topic is made before all brokers know it, and before its partitions have leaders. Ends when nobody waits any more. */
async function untilLed(cluster: Cluster, topic: string, partitions: number): Promise<void> {
  const endMs = cluster.clock.nowMs() + adminTimeoutMs
  for (let tries = 1; cluster.clock.nowMs() < endMs; tries++) {
    const { topics } = await cluster.look([topic])
    const led = topics[0]?.partitions.filter(p => p.error === 0 && p.leader >= 0) ?? []
    if (topics[0]?.error === 0 && led.length >= partitions) return
    await pause(cluster, tries)
  }
}

async function pause(cluster: Cluster, tries: number): Promise<void> {
  await new Promise<void>(resolve => cluster.clock.after(backOffMs(linkBackOff, tries, cluster.chance), resolve))
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
    await pause(cluster, tries)
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
