import { setTimeout as delay } from 'node:timers/promises'
import { checkpointFrom } from '../../engine/mirror/decide/checkpointMetadata.ts'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { deleteRecords } from '../../rig/deleteRecords.ts'
import { between } from '../../rig/seeded.ts'
import { kafkaClient } from '../../test/live/kafkajs.ts'
import type { Incarnation } from './ledger.ts'
import { openWriter, type Writer } from './writers.ts'

type Deed = 'created' | 'grown' | 'deleted' | 'remade' | 'trimmed'
export type TopicCounts = Record<Deed, number>
type Life = { incarnation: Incarnation; writers: Writer[] }

export type TopicsHow = {
  cluster: KafkaCluster
  bootstrap: string
  /** Of the mirror: says whether a partition has been begun when it is trimmed. */
  group: string
  /** Of the names of all topics. */
  prefix: string
  chance: () => number
  /** A second chance, for what the clock drives: the deeds stay the same ones. */
  writeChance: () => number
  signal: AbortSignal
  say: (line: string) => void
}
type Source = TopicsHow & {
  tools: ReturnType<typeof kafkaClient>
  incarnations: Incarnation[]
  live: Map<string, Life>
  /** Every name that was ever used. */
  names: string[]
  failed: (error: Error) => void
}

const liveTopicsMin = 4
const liveTopicsMax = 10
const createdPartitionsMax = 4
const partitionsMax = 6
const writeEachMs = 100
/** The share of the writers that send a batch each time. */
const writeShare = 0.7
const againMs = 100
const deeds: Deed[] = ['created', 'created', 'grown', 'grown', 'deleted', 'remade', 'remade', 'trimmed', 'trimmed']

/** The topics of the source and those who write to them: made, grown, deleted, made anew, trimmed, by seeded chance. */
export function topicLives(how: TopicsHow) {
  const { promise: failed, reject } = Promise.withResolvers<never>()
  failed.catch(() => {})
  const tools = kafkaClient(how.bootstrap)
  const source: Source = { ...how, tools, incarnations: [], live: new Map(), names: [], failed: reject }
  const { incarnations, live, chance, writeChance } = source
  const counts: TopicCounts = { created: 0, grown: 0, deleted: 0, remade: 0, trimmed: 0 }
  const writing = setInterval(() => {
    for (const { writers } of live.values()) for (const writer of writers) if (writeChance() < writeShare) writer.more()
  }, writeEachMs)
  return {
    incarnations: incarnations as readonly Incarnation[],
    counts: counts as Readonly<TopicCounts>,
    /** Rejects when a write was refused. */
    failed,
    /** Something by chance, when it can be done now. */
    async deed(): Promise<void> {
      const deed = live.size < liveTopicsMin ? 'created' : (deeds[between(chance, 0, deeds.length - 1)] as Deed)
      const topic = await act[deed](source)
      if (topic === null) return
      counts[deed]++
      how.say(`${topic} was ${deed}`)
    },
    /** No more is written; all that was is acknowledged. */
    async finish(): Promise<void> {
      clearInterval(writing)
      for (const { writers } of live.values()) for (const writer of writers) await writer.finish(how.signal)
    },
    async close(): Promise<void> {
      clearInterval(writing)
      await tools.close()
    },
  }
}

/** Each gives the topic; null = nothing to do it with. */
const act: Record<Deed, (source: Source) => Promise<string | null>> = {
  async created(source) {
    const { live, names, chance } = source
    if (live.size >= liveTopicsMax) return null
    const free = names.filter(name => !live.has(name))
    const again = chance() < 0.3 ? free[between(chance, 0, free.length - 1)] : undefined
    const topic = again ?? `${source.prefix}${names.length}`
    if (again === undefined) names.push(topic)
    await create(source, topic)
    return topic
  },
  async grown(source) {
    const life = someLife(source)
    if (life === null || life.writers.length >= partitionsMax) return null
    const { length } = life.writers
    const to = between(source.chance, length + 1, partitionsMax)
    const { topic } = life.incarnation
    await asked(source, () => source.cluster.admin.growTopic(topic, to))
    for (let partition = length; partition < to; partition++) write(source, life, partition)
    return topic
  },
  async deleted(source) {
    const life = someLife(source)
    if (life === null || source.live.size <= liveTopicsMin) return null
    await remove(source, life)
    return life.incarnation.topic
  },
  async remade(source) {
    const life = someLife(source)
    if (life === null) return null
    await remove(source, life)
    await create(source, life.incarnation.topic)
    return life.incarnation.topic
  },
  async trimmed(source) {
    const life = someLife(source)
    return life === null ? null : await trim(source, life)
  },
}

function someLife({ live, chance }: Source): Life | null {
  const all = [...live.values()]
  return all[between(chance, 0, all.length - 1)] ?? null
}

function write(source: Source, { incarnation, writers }: Life, partition: number): void {
  incarnation.parts[partition] = { sent: 0, acked: 0, trims: [] }
  writers[partition] = openWriter(source.cluster, incarnation, partition, {
    chance: source.writeChance,
    failed: source.failed,
  })
}

async function create(source: Source, topic: string): Promise<void> {
  const { cluster, incarnations, live, chance } = source
  const partitions = between(chance, 1, createdPartitionsMax)
  const old = incarnations.findLast(one => one.topic === topic)?.topicId
  const createdMs = Date.now()
  const topicId = await asked(source, async () => {
    await cluster.admin.createTopic(topic, partitions)
    const [view] = (await cluster.admin.look([topic])).topics
    if (view?.code !== 0 || view.topicId === old) throw new Error(`${topic} is not there yet`)
    return view.topicId
  })
  const incarnation = { number: incarnations.length + 1, topic, topicId, parts: [], createdMs, deletedMs: null }
  const life: Life = { incarnation, writers: [] }
  for (let partition = 0; partition < partitions; partition++) write(source, life, partition)
  incarnations.push(incarnation)
  live.set(topic, life)
}

async function remove(source: Source, { incarnation, writers }: Life): Promise<void> {
  const { topic, topicId } = incarnation
  incarnation.deletedMs = Date.now()
  await asked(source, async () => {
    const [view] = (await source.cluster.admin.look([topic])).topics
    if (view?.code !== 0 || view.topicId !== topicId) return
    await source.tools.admin.deleteTopics({ topics: [topic] })
    throw new Error('not known yet whether it is gone')
  })
  source.live.delete(topic)
  for (const writer of writers) writer.drop()
}

async function trim(source: Source, { incarnation }: Life): Promise<string | null> {
  const { chance, cluster, bootstrap, group, signal } = source
  const { topic, topicId, parts } = incarnation
  const partition = between(chance, 0, parts.length - 1)
  const part = parts[partition]
  const last = part?.trims.at(-1)?.before ?? 0
  if (part === undefined || part.acked - last < 2) return null
  // All that is there, or a part of it that ends within a batch.
  const before = chance() < 0.5 ? part.acked : between(chance, last + 1, part.acked)
  const at = { topic, partition }
  const [entry] = await asked(source, () => cluster.checkpoints.load(group, [at], signal))
  const wasStarted = entry !== undefined && checkpointFrom(entry.metadata)?.sourceId === topicId
  part.trims.push({ before, wasStarted })
  await asked(source, () => deleteRecords(bootstrap, at, BigInt(before)))
  return topic
}

/** Asked again until it is answered: brokers are restarted. */
async function asked<T>({ signal }: Source, ask: () => Promise<T>): Promise<T> {
  for (;;) {
    signal.throwIfAborted()
    try {
      return await ask()
    } catch {
      await delay(againMs, undefined, { signal })
    }
  }
}
