import { Buffer } from 'node:buffer'
import type { Part } from '../../../engine/ports/kafka.ts'
import { FakeLog } from './log.ts'

export type FakeTopic = {
  topic: string
  topicId: string
  partitions: { log: FakeLog; leader: number }[]
  /** Set on the topic itself. */
  configs: Map<string, string>
}
export type AdminApi = 'createTopic' | 'growTopic' | 'alterTopicConfigs'
export type Stored = { offset: bigint; epoch: number; metadata: string }

/** What all brokers of a cluster agree on: topics, leaders, offsets of groups, producer ids. */
export class FakeState {
  readonly clusterId: string
  readonly brokers: number
  readonly topics = new Map<string, FakeTopic>()
  readonly groups = new Map<string, Map<string, Stored>>()
  /** Kafka's error number that a request for topics is answered with, by what was asked. */
  readonly denied = new Map<AdminApi, number>()
  /** Requests that would change a topic. */
  adminWrites = 0
  #ids = 0
  #producerId = 1000n
  readonly #moved = new Set<() => void>()

  constructor(clusterId: string, brokers: number) {
    this.clusterId = clusterId
    this.brokers = brokers
  }

  /** The next Fetch is answered at once, with this and no topics. */
  throttleNextFetchMs = 0

  producerId(): bigint {
    this.#producerId++
    return this.#producerId
  }

  create(topic: string, partitions: number, configs: Record<string, string> = {}): FakeTopic {
    const made: FakeTopic = {
      topic,
      topicId: this.#nextId(),
      partitions: [],
      configs: new Map(Object.entries(configs)),
    }
    this.topics.set(topic, made)
    this.grow(topic, partitions)
    return made
  }

  grow(topic: string, partitions: number): void {
    const there = this.topics.get(topic)
    for (let p = there?.partitions.length ?? 0; p < partitions; p++)
      there?.partitions.push({ log: new FakeLog(), leader: p % this.brokers })
  }

  topicById(topicId: string): FakeTopic | undefined {
    for (const topic of this.topics.values()) if (topic.topicId === topicId) return topic
    return undefined
  }

  place(part: Part): { log: FakeLog; leader: number } {
    const place = this.topics.get(part.topic)?.partitions[part.partition]
    if (!place) throw new Error(`${part.topic}/${part.partition} is not there`)
    return place
  }

  move(part: Part, leader: number): void {
    const place = this.place(part)
    place.leader = leader
    place.log.newEpoch()
    this.changed()
  }

  /** Something that a waiting Fetch must notice. */
  changed(): void {
    for (const tell of [...this.#moved]) tell()
  }

  watch(tell: () => void): () => void {
    this.#moved.add(tell)
    return () => this.#moved.delete(tell)
  }

  #nextId(): string {
    this.#ids++
    const id = Buffer.alloc(16, this.clusterId)
    id.writeUInt32BE(this.#ids, 12)
    return id.toString('base64url')
  }
}
