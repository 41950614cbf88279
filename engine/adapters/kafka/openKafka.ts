import type { Chance, Clock } from '../../ports/clock.ts'
import type { BatchSource, Isolation, KafkaCluster } from '../../ports/kafka.ts'
import { clusterAdmin } from './admin.ts'
import { type Address, Cluster } from './cluster.ts'
import { connector } from './connect.ts'
import type { Caps } from './decide/chooseVersions.ts'
import type { Security } from './login.ts'
import { crc32c } from './native.ts'
import { Offsets } from './offsets.ts'
import { Sink } from './sink.ts'
import type { MemoryAccount } from './slab.ts'
import { Source } from './source.ts'
import { TopicAdmin } from './topicAdmin.ts'

/** One entry of `clusters:` (DESIGN §7), resolved. */
export type ClusterConfig = {
  name: string
  brokers: Address[]
  clientId: string
  /** Advertised `host:port` → where it can be reached (W-20). */
  addresses: ReadonlyMap<string, Address>
  security: Security
}

/** What measures and tests may read of an adapter. */
export type KafkaCounts = {
  metadataRequests: number
  fetchRequests: number
  produceRequests: number
  producerResets: number
  swaps: number
  commits: number
  /** How long brokers, by address, have told us to wait. */
  throttleMs: ReadonlyMap<string, number>
}

/** One per process and cluster of the configuration. Nothing is connected before it is needed. */
export function openKafka(
  config: ClusterConfig,
  parts: { account: MemoryAccount; clock: Clock; chance: Chance; caps?: Caps },
): KafkaCluster & { counts(): KafkaCounts } {
  const { clock, chance, account } = parts
  const throttleMs = new Map<string, number>()
  const connect = connector({
    cluster: config.name,
    clientId: config.clientId,
    security: config.security,
    account,
    clock,
    caps: parts.caps ?? new Map(),
    throttled: (broker, ms) => throttleMs.set(broker, (throttleMs.get(broker) ?? 0) + ms),
  })
  const cluster = new Cluster({
    name: config.name,
    bootstrap: config.brokers,
    advertised: config.addresses,
    connect,
    clock,
    chance,
  })
  const topics = new TopicAdmin({
    cluster: config.name,
    bootstrap: config.brokers,
    clientId: config.clientId,
    security: config.security,
    clock,
  })
  const sources = new Map<string, Source>()
  const sink = new Sink({ cluster, crc: crc32c, account })
  const offsets = new Offsets(cluster)
  return {
    source(how: { isolation: Isolation; rack: string | null }): BatchSource {
      const key = `${how.isolation} ${how.rack ?? ''}`
      const there = sources.get(key) ?? new Source({ cluster, account, crc: crc32c, ...how })
      sources.set(key, there)
      return there
    },
    sink,
    checkpoints: offsets,
    admin: clusterAdmin(cluster, topics),
    cut() {
      sink.cut()
      cluster.cut()
    },
    async close() {
      for (const source of sources.values()) source.close()
      sink.close()
      cluster.close()
      await topics.close()
    },
    counts: () => ({
      metadataRequests: cluster.metadataRequests,
      fetchRequests: [...sources.values()].reduce((sum, source) => sum + source.requests, 0),
      produceRequests: sink.counts.requests,
      producerResets: sink.producerResets,
      swaps: sink.counts.swaps,
      commits: offsets.commits,
      throttleMs,
    }),
  }
}
