import type { Buffer } from 'node:buffer'
import { clusterAdmin } from '../../../engine/adapters/kafka/admin.ts'
import { Cluster } from '../../../engine/adapters/kafka/cluster.ts'
import { crc32c } from '../../../engine/adapters/kafka/native.ts'
import { Offsets } from '../../../engine/adapters/kafka/offsets.ts'
import { Sink } from '../../../engine/adapters/kafka/sink.ts'
import { MemoryAccount } from '../../../engine/adapters/kafka/slab.ts'
import { Source } from '../../../engine/adapters/kafka/source.ts'
import type { Chance } from '../../../engine/ports/clock.ts'
import type { KafkaCluster, Part, TopicId } from '../../../engine/ports/kafka.ts'
import type { ManualClock } from '../clock.ts'
import { FakeBrokers, firstPort } from './broker.ts'
import type { FakeLog } from './log.ts'
import { type AdminApi, FakeState, type FakeTopic, type Stored } from './state.ts'
import { fakeTopicAdmin } from './topicAdmin.ts'

/** A cluster in memory with the vices of KAFKA-CLIENT W-78. Nothing happens but when its clock goes on. */
export type FakeKafka = KafkaCluster & {
  readonly account: MemoryAccount
  readonly brokers: FakeBrokers
  /** `adminWrites`: requests to create, grow or set a topic, refused ones too. */
  counts(): { fetches: number; produces: number; commits: number; producerResets: number; adminWrites: number }
  // What a test puts there and looks at
  topic(topic: string, partitions?: number, configs?: Record<string, string>): FakeTopic
  grow(topic: string, partitions: number): void
  log(part: Part): FakeLog
  topicIdOf(topic: string): TopicId
  /** What another producer writes: a batch, base offset and leader epoch are set. Gives its base offset. */
  write(part: Part, batch: Buffer): bigint
  stored(group: string): ReadonlyMap<string, Stored>
  // Vices
  /** The leader is lost and with it all from `to` on; another one goes on in a new epoch. */
  truncate(part: Part, to: bigint): void
  /** Deleted and made anew, empty, with another id. */
  recreateTopic(topic: string): FakeTopic
  deleteTopic(topic: string): void
  trimTo(part: Part, offset: bigint): void
  /** The next batch for `part` is answered with `code`; `taken`: though it was written. */
  failNextProduce(part: Part, code: number, taken?: boolean): void
  /** The next batch for `part` is taken, but the link is lost before the answer. */
  loseAnswer(part: Part): void
  /** Answers of a broker (to one API, such as `Produce`, or to all) are kept back until the given function is called. */
  holdAnswers(broker: number, api?: string | null): () => void
  /**
   * The kernel takes nothing of what is written to a broker, on old links and new ones, but `take` bytes of each when
   * told to, until `heal`.
   */
  takesNothing(broker: number): { take(bytes: number): void; heal(): void }
  /** The next Fetch is over its quota: the client must be silent for so long (W-25). */
  throttleNextFetch(ms: number): void
  /** The next batch at or after the offset comes damaged, so many times. */
  corruptNextBatch(part: Part, from: bigint, times?: number): void
  /** Another broker leads. */
  moveLeader(part: Part, broker: number): void
  /** Every link to a broker is closed. */
  resetLinks(broker: number): void
  /** From now on such requests are answered with this error number of Kafka's; 0 = no longer. */
  denyAdmin(api: AdminApi, code: number): void
  stopBroker(broker: number): void
  startBroker(broker: number): void
}

/**
 * The real streams, lanes and offsets over brokers in memory: what is played is Kafka, not our client. Brokers are
 * numbered from 0; partition p of a topic is led by broker p mod `brokers`. `caps`: highest version by API key (W-12).
 */
export function fakeKafka(how: {
  clock: ManualClock
  name?: string
  brokers?: number
  account?: MemoryAccount
  chance?: Chance
  caps?: ReadonlyMap<number, number>
}): FakeKafka {
  const { clock, name = 'fake', chance = () => 0.5, account = new MemoryAccount({ poison: true }) } = how
  const state = new FakeState(name, how.brokers ?? 1)
  const brokers = new FakeBrokers({ state, clock, account, ...(how.caps ? { caps: how.caps } : {}) })
  const bootstrap = [...Array(state.brokers).keys()].map(id => ({ host: 'fake', port: firstPort + id }))
  const cluster = new Cluster({ name, bootstrap, advertised: new Map(), connect: brokers.connect, clock, chance })
  const sources = new Map<string, Source>()
  const sink = new Sink({ cluster, crc: crc32c, account })
  const offsets = new Offsets(cluster)
  const vices = vicesOf(state, brokers)
  return {
    account,
    brokers,
    sink,
    checkpoints: offsets,
    admin: clusterAdmin(cluster, fakeTopicAdmin(state)),
    source(what) {
      const key = `${what.isolation} ${what.rack ?? ''}`
      const there = sources.get(key) ?? new Source({ cluster, account, crc: crc32c, ...what })
      sources.set(key, there)
      return there
    },
    cut() {
      sink.cut()
      cluster.cut()
    },
    async close() {
      for (const source of sources.values()) source.close()
      sink.close()
      cluster.close()
    },
    counts: () => ({
      fetches: brokers.asked('Fetch'),
      produces: brokers.asked('Produce'),
      commits: brokers.asked('OffsetCommit'),
      producerResets: sink.producerResets,
      adminWrites: state.adminWrites,
    }),
    topic: (topic, partitions = 1, configs = {}) => state.create(topic, partitions, configs),
    grow: (topic, partitions) => state.grow(topic, partitions),
    log: part => state.place(part).log,
    topicIdOf: topic => state.topics.get(topic)?.topicId ?? '',
    write: (part, batch) => state.place(part).log.append(batch),
    stored: group => state.groups.get(group) ?? new Map(),
    ...vices,
  }
}

function vicesOf(state: FakeState, brokers: FakeBrokers) {
  const recreate = (topic: string) => {
    const made = state.create(topic, state.topics.get(topic)?.partitions.length ?? 1)
    state.changed()
    return made
  }
  return {
    truncate: (part: Part, to: bigint) => state.place(part).log.truncate(to),
    recreateTopic: recreate,
    deleteTopic(topic: string) {
      state.topics.delete(topic)
      state.changed()
    },
    trimTo: (part: Part, offset: bigint) => state.place(part).log.trimTo(offset),
    failNextProduce: (part: Part, code: number, taken = false) =>
      void brokers.produceFaults.push({ part, code, taken }),
    loseAnswer: (part: Part) => brokers.loseNext(part),
    holdAnswers: (broker: number, api: string | null = null) => brokers.hold(broker, api),
    takesNothing: (broker: number) => brokers.deafen(broker),
    throttleNextFetch(ms: number) {
      state.throttleNextFetchMs = ms
      state.changed()
    },
    corruptNextBatch: (part: Part, from: bigint, times = 1) => state.place(part).log.corruptFrom(from, times),
    moveLeader: (part: Part, broker: number) => state.move(part, broker),
    resetLinks: (broker: number) => brokers.reset(broker),
    denyAdmin: (api: AdminApi, code: number) => void state.denied.set(api, code),
    stopBroker: (broker: number) => brokers.stop(broker),
    startBroker: (broker: number) => brokers.start(broker),
  }
}
