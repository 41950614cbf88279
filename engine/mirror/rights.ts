import { MillraceError } from '../errors.ts'
import type { LookContext } from '../flow/contract.ts'
import type { FlowEvent } from '../flow/event.ts'
import { missingRight } from '../flow/missingRight.ts'
import type { TopicRules } from '../flow/select.ts'
import type { ClusterAdmin } from '../ports/kafka.ts'
import { rulesWith } from './decide/selected.ts'
import { isEvery, topicResources } from './decide/topicResources.ts'
import { lookAtClusters, type MirrorLook } from './look.ts'
import { provenanceTopicName } from './provenanceTopic.ts'
import type { MirrorSpec } from './spec.ts'

/** Rights that are missing and that no answer tells of by itself. */
export type Rights = {
  rightsMissing: readonly FlowEvent[]
  /** Topics that were there and whose settings did not come, by `from name` or `to name`. */
  unread: ReadonlySet<string>
}

const denied = 29

/**
 * A look at both clusters that also finds what only seems not to be there. Kafka leaves out of its answers what we may
 * not see, but of a topic that is asked for by name it says so, also of one that does not exist.
 */
export async function lookWithRights(
  spec: MirrorSpec,
  ctx: LookContext,
  before: (MirrorLook & Rights) | null,
): Promise<MirrorLook & Rights> {
  const from = ctx.kafka(spec.from)
  if (spec.loopGuard === 'topic') await mayReadGuards(spec.from, from.admin, ctx.flow)
  const look = await lookAtClusters(spec, ctx, before)
  const rightsMissing: FlowEvent[] = []
  const hidden =
    look.topics.size === 0
      ? await hiddenTopics(spec.from, from.admin, rulesWith(spec.topics, ctx.overlay.topics))
      : null
  if (hidden) rightsMissing.push({ code: hidden.code, message: hidden.message, hint: hidden.hint })
  const target = spec.destination.create ? null : await hiddenTarget(spec, look, ctx.kafka(spec.to).admin)
  if (target) rightsMissing.push(target)
  const unread = new Set(unreadOf(spec, look))
  // One that was deleted a moment ago has no settings either: in the next look it is gone.
  const lasting = [...unread].filter(one => before?.unread.has(one))
  for (const end of ['from', 'to'] as const) {
    const names = lasting.filter(one => one.startsWith(`${end} `)).map(one => one.slice(end.length + 1))
    if (names.length > 0) rightsMissing.push(settingsDenied(spec, end, names))
  }
  return { ...look, rightsMissing, unread }
}

/** Without this right the source would seem to have no provenance, and a loop would not be seen (M-21). */
async function mayReadGuards(source: string, admin: ClusterAdmin, flow: string): Promise<void> {
  if (!(await isDenied(admin, provenanceTopicName(flow)))) return
  const message = `${source}: topics millrace.mirror.* may not be read, so nobody knows whether records would go round (Kafka's error ${denied})`
  const hint = `${missingRight('Read on topics with the prefix millrace.mirror.')}; without that right: loopGuard: off`
  throw new MillraceError('kafka-not-authorized', message, { retryable: true, kafka: denied, hint })
}

/** Why no topic of these rules is seen, when it is that we may see none of them; else null. */
export async function hiddenTopics(
  source: string,
  admin: ClusterAdmin,
  rules: TopicRules,
): Promise<MillraceError | null> {
  const resources = topicResources(rules)
  const probes = resources.map(one => (isEvery(one) ? 'millrace' : one.name))
  const seen = await Promise.all(probes.map(name => isDenied(admin, name)))
  const [first] = resources.filter((_, i) => seen[i])
  if (first === undefined || seen.includes(false)) return null
  const which = first.pattern === 'prefixed' ? `topics with the prefix ${first.name}` : `topic ${first.name}`
  const message = `${source}: ${which} may not be seen, and no other topic of the flow is there (Kafka's error ${denied})`
  return new MillraceError('kafka-not-authorized', message, { kafka: denied, hint: missingRight(`Read on ${which}`) })
}

/** A destination topic that waits to be made by somebody, and may have been: of the first, for one right is missing for all. */
async function hiddenTarget(spec: MirrorSpec, look: MirrorLook, admin: ClusterAdmin): Promise<FlowEvent | null> {
  const there = new Set(look.destination.topics.map(({ topic }) => topic))
  const [missing] = [...look.names.names.values()].filter(name => !there.has(name))
  if (missing === undefined || !(await isDenied(admin, missing))) return null
  const message = `${spec.to}: topic ${missing} may not be seen (Kafka's error ${denied})`
  return { code: 'kafka-not-authorized', message, hint: missingRight(`Write on topic ${missing}`) }
}

async function isDenied(admin: ClusterAdmin, topic: string): Promise<boolean> {
  const { topics } = await admin.look([topic])
  return topics.some(one => one.code === denied)
}

/** What `lookAtClusters` asked the settings of, and did not get. */
function* unreadOf(spec: MirrorSpec, { names, absent, topics, destination, configs }: MirrorLook): Generator<string> {
  const { create, config } = spec.destination
  const there = new Set(destination.topics.filter(({ code }) => code === 0).map(({ topic }) => topic))
  for (const [topic, name] of names.names) {
    const isAsked = config.sync || (create && !there.has(name))
    if (isAsked && topics.has(topic) && !absent.has(topic) && !configs.source.has(topic)) yield `from ${topic}`
    if ((config.sync || create) && there.has(name) && !configs.destination.has(name)) yield `to ${name}`
  }
}

function settingsDenied(spec: MirrorSpec, end: 'from' | 'to', names: readonly string[]): FlowEvent {
  const [first = ''] = names
  const more = names.length > 1 ? ` and ${names.length - 1} more` : ''
  const right = end === 'to' && spec.destination.config.sync ? 'AlterConfigs' : 'DescribeConfigs'
  const follows =
    end === 'from' ? 'topics are not created and settings not kept in step' : 'settings are not kept in step'
  const message = `${spec[end]}: the settings of topic ${first}${more} may not be read: ${follows}`
  return { code: 'kafka-not-authorized', message, hint: missingRight(`${right} on topic ${first}`) }
}
