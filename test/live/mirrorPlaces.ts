import type { KafkaCluster, Part } from '../../engine/ports/kafka.ts'
import { numberedBatch } from '../../rig/audit.ts'
import { offsetOf } from '../../rig/readLog.ts'
import { send } from '../../rig/samples.ts'
import { javaTool } from './javaTool.ts'
import { eventually } from './runFile.ts'

/** Records with the numbers `from` up to, not with, `to`, in batches of `each`. */
export async function write(
  cluster: KafkaCluster,
  part: Part,
  [from, to]: [number, number],
  signal: AbortSignal,
  each = 10,
): Promise<void> {
  function* batches() {
    for (let n = from; n < to; n += each)
      yield numberedBatch(n, Math.min(each, to - n), { codec: 'lz4', valueBytes: 100, timestampMs: Date.now() })
  }
  await send(cluster, part, batches(), signal)
}

export async function partitionsAt(cluster: KafkaCluster, topic: string): Promise<number> {
  const [view] = (await cluster.admin.look([topic])).topics
  return view?.code === 0 ? view.partitions.length : 0
}

/** Until the partition ends at this offset; more is an error. */
export async function untilEnd(cluster: KafkaCluster, part: Part, end: number, signal: AbortSignal): Promise<void> {
  const found = await eventually(async () => {
    const at = await offsetOf(cluster, part, 'end')
    return at >= BigInt(end) ? at : null
  }, signal)
  if (found !== BigInt(end)) throw new Error(`${part.topic}/${part.partition} ends at ${found}, not at ${end}`)
}

/** The committed offsets of a flow, by `topic/partition`. */
export async function checkpointsOf(
  east: KafkaCluster,
  flow: string,
  signal: AbortSignal,
): Promise<Map<string, number>> {
  const entries = await east.checkpoints.load(`millrace.${flow}`, 'all', signal)
  return new Map(entries.map(({ topic, partition, offset }) => [`${topic}/${partition}`, Number(offset)]))
}

/** What is set on a topic itself, but for what the cluster sets on all. */
export async function settingsOf(cluster: KafkaCluster, topic: string): Promise<Record<string, string | null>> {
  const configs = (await cluster.admin.topicConfigs([topic])).get(topic) ?? []
  return Object.fromEntries(configs.filter(({ onTopic }) => onTopic).map(({ name, value }) => [name, value]))
}

/** An operator's hand at the offsets of a flow: Kafka's own tool. */
export async function groupTool(bootstrap: string, flow: string, topic: string, ...more: string[]): Promise<void> {
  const of = ['--bootstrap-server', bootstrap, '--group', `millrace.${flow}`, '--topic', topic]
  await javaTool('org.apache.kafka.tools.consumer.group.ConsumerGroupCommand', [...of, ...more])
}
