import { type FaultCode, MillraceError } from '../../../errors.ts'
import { missingRight } from '../../../flow/missingRight.ts'
import type { ClusterAdmin, ConfigChange } from '../../../ports/kafka.ts'
import { classify, troubleCode } from './classify.ts'

/** What was asked, for messages: `what` failed, as `topic t cannot be created`; `right` is the one it takes. */
export type AdminAsk = { what: string; right: string }

type CreateTopic = Parameters<ClusterAdmin['createTopic']>

export function createAsk(topic: CreateTopic[0], partitions: CreateTopic[1], more: CreateTopic[2] = {}): AdminAsk {
  const asked = [
    `${partitions} ${partitions === 1 ? 'partition' : 'partitions'}`,
    ...(more.replicas === undefined ? [] : [`${more.replicas} replicas`]),
    ...Object.entries(more.configs ?? {}).map(([name, value]) => `${name}=${value}`),
  ]
  const what = `topic ${topic} cannot be created (${asked.join(', ')})`
  return { what, right: `Create on topic ${topic} or on the cluster` }
}

export function growAsk(topic: string, partitions: number): AdminAsk {
  return { what: `topic ${topic} cannot be grown to ${partitions} partitions`, right: `Alter on topic ${topic}` }
}

export function alterAsk({ topic, set, unset }: ConfigChange): AdminAsk {
  const asked = [
    ...Object.entries(set).map(([name, value]) => `${name}=${value}`),
    ...unset.map(name => `${name} unset`),
  ]
  const what = `settings of topic ${topic} cannot be changed (${asked.join(', ')})`
  return { what, right: `AlterConfigs on topic ${topic}` }
}

/**
 * Our fault for Kafka's answer to a topic that was to be made, grown, read or set (KAFKA-CLIENT W-77, §5). `kafka`: its
 * error number; `text`: what the broker says to it, null = nothing. Retryable but where only a change of what is asked
 * for helps.
 */
export function adminFault(
  cluster: string,
  ask: AdminAsk,
  told: { kafka: number; text: string | null; cause?: unknown },
): MillraceError {
  const { kafka, text, cause } = told
  const verdict = classify('admin', kafka)
  const message = `${cluster}: ${ask.what}: ${text ? `${text} (Kafka's error ${kafka})` : `Kafka's error ${kafka}`}`
  const denied = verdict === 'wait'
  const hint = denied ? missingRight(ask.right) : (hints[kafka] ?? null)
  const retryable = !['refused', 'missing', 'login', 'protocol'].includes(verdict)
  return new MillraceError(codeOf(kafka), message, { retryable, hint, kafka, cause })
}

function codeOf(kafka: number): FaultCode {
  const verdict = classify('admin', kafka)
  if (verdict === 'refused') return 'config-invalid'
  // Which end of a copy it is, its flow knows.
  if (verdict === 'missing') return 'not-found'
  return troubleCode(kafka, 'destination')
}

const hints: Record<number, string> = {
  17: 'a topic has at most 249 characters of a–z, A–Z, 0–9, ., _ and -, and no namesake in which . and _ differ',
  37: 'ask for more partitions than there are, and for no more than the cluster allows',
  38: 'ask for as many replicas as the cluster has brokers, or fewer; -1 takes its own default',
  40: 'the cluster does not know one of the settings, or its value: exclude or override it',
  44: 'the cluster has a policy for topics: ask its owner for it, or create the topic by hand',
  58: "check the secret's user and mechanism",
}
