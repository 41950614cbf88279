import type { TopicConfig } from '../../../engine/ports/kafka.ts'
import type { FakeTopic } from './state.ts'

/** What Kafka 4 has a topic's settings at when nobody has set them. */
const defaults = new Map([
  ['cleanup.policy', 'delete'],
  ['compression.gzip.level', '-1'],
  ['compression.lz4.level', '9'],
  ['compression.type', 'producer'],
  ['compression.zstd.level', '3'],
  ['delete.retention.ms', '86400000'],
  ['file.delete.delay.ms', '60000'],
  ['flush.messages', '9223372036854775807'],
  ['flush.ms', '9223372036854775807'],
  ['follower.replication.throttled.replicas', ''],
  ['index.interval.bytes', '4096'],
  ['leader.replication.throttled.replicas', ''],
  ['local.retention.bytes', '-2'],
  ['local.retention.ms', '-2'],
  ['max.compaction.lag.ms', '9223372036854775807'],
  ['max.message.bytes', '1048588'],
  ['message.timestamp.after.max.ms', '3600000'],
  ['message.timestamp.before.max.ms', '9223372036854775807'],
  ['message.timestamp.type', 'CreateTime'],
  ['min.cleanable.dirty.ratio', '0.5'],
  ['min.compaction.lag.ms', '0'],
  ['min.insync.replicas', '1'],
  ['preallocate', 'false'],
  ['remote.storage.enable', 'false'],
  ['retention.bytes', '-1'],
  ['retention.ms', '604800000'],
  ['segment.bytes', '1073741824'],
  ['segment.index.bytes', '10485760'],
  ['segment.jitter.ms', '0'],
  ['segment.ms', '604800000'],
  ['unclean.leader.election.enable', 'false'],
])

/** All settings of a topic, as DescribeConfigs gives them. */
export function configsOf({ configs }: FakeTopic): TopicConfig[] {
  return [...defaults].map(([name, value]) => {
    const own = configs.get(name)
    return { name, value: own ?? value, isDefault: own === undefined, onTopic: own !== undefined }
  })
}

/** Why a setting cannot be set, in the broker's words; null = it can. Values are not looked at. */
export function configFault(name: string): string | null {
  return defaults.has(name) ? null : `Unknown topic config name: ${name}`
}
