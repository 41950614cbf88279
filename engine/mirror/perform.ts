import { type Fault, MillraceError } from '../errors.ts'
import type { SteerContext, Undone, View } from '../flow/contract.ts'
import { unitName } from '../flow/unitName.ts'
import { within } from '../flow/within.ts'
import { performTimeoutMs } from '../limits.ts'
import type { KafkaCluster } from '../ports/kafka.ts'
import { commitStarts } from './commitStarts.ts'
import { rewriteWarnings } from './decide/configChanges.ts'
import type { Provenance } from './decide/provenance.ts'
import type { MirrorAction } from './decide/steerMirror.ts'
import { notStored, offsetsIn } from './groupOffsets.ts'
import type { MirrorLook } from './look.ts'
import { provenanceTopicConfigs, provenanceTopicName, writeProvenance } from './provenanceTopic.ts'
import type { MirrorSpec } from './spec.ts'

/** Carries out one chore of a mirror (M-5): a level, so that doing it twice is harmless. Gives what could not be done. */
export async function performMirror(
  action: MirrorAction,
  spec: MirrorSpec,
  view: View<MirrorLook>,
  ctx: SteerContext,
): Promise<Undone[]> {
  const to = ctx.kafka(spec.to)
  switch (action.do) {
    case 'provenance':
      await writeOurs(action.records, spec, view, ctx)
      return []
    case 'createTopic':
      return await each(action.topics, async ({ topic, partitions, replicas, configs }) => {
        await to.admin.createTopic(topic, partitions, { replicas, configs })
        await warnOfRewriting(to, topic, ctx)
      })
    case 'growTopic':
      return await each(action.topics, ({ topic, partitions }) => to.admin.growTopic(topic, partitions))
    case 'commitStarts':
      return await commitStarts(action, spec, view, ctx)
    case 'commitAgain':
      await commitAgain(action.entries, spec, view, ctx)
      return []
    case 'syncConfigs': {
      const refused = await to.admin.alterTopicConfigs(action.changes)
      return refused.map(({ topic, fault }) => ({ item: topic, error: errorOf(fault) }))
    }
  }
}

/** Side by side; what fails does not keep the others from being done. */
async function each<T extends { topic: string }>(topics: T[], make: (one: T) => Promise<void>): Promise<Undone[]> {
  const results = await Promise.allSettled(topics.map(make))
  return results.flatMap((result, i) => {
    if (result.status === 'fulfilled') return []
    if (!(result.reason instanceof MillraceError)) throw result.reason
    return [{ item: topics[i]?.topic ?? '', error: result.reason }]
  })
}

async function writeOurs(
  records: Provenance[],
  spec: MirrorSpec,
  view: View<MirrorLook>,
  ctx: SteerContext,
): Promise<void> {
  const to = ctx.kafka(spec.to)
  const topic = provenanceTopicName(ctx.flow)
  let topicId = view.destination.topics.find(t => t.topic === topic && t.code === 0)?.topicId
  if (topicId === undefined) {
    try {
      const replicas = spec.destination.replicationFactor
      await to.admin.createTopic(topic, 1, { replicas, configs: { ...provenanceTopicConfigs } })
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error
      const hint = `${error.hint ?? `let somebody create ${topic} there`}; without that right: loopGuard: off`
      throw new MillraceError(error.code, error.message, {
        retryable: error.retryable,
        hint,
        cause: error,
        kafka: error.kafka,
      })
    }
    topicId = (await to.admin.look([topic])).topics[0]?.topicId ?? ''
  }
  const { mayWrite, codec, crc, clock, signal } = ctx
  await writeProvenance(to, ctx.flow, records, { topicId, mayWrite, codec, crc, clock, signal })
}

/** M-26. */
async function warnOfRewriting(to: KafkaCluster, topic: string, ctx: SteerContext): Promise<void> {
  const configs = (await to.admin.topicConfigs([topic])).get(topic) ?? []
  for (const setting of rewriteWarnings(configs)) {
    const message = `${topic}: the destination has ${setting}: what is copied will differ from the source in bytes or times`
    ctx.tell({
      code: 'destination-rewrites',
      message,
      hint: 'set it on the destination topic as it is at the source',
      topic,
    })
  }
}

/**
 * M-43. From now on they have stood since now. What somebody has set since the look is left as it is: it is what our
 * own hints tell people to do, and the commit would take it back.
 */
async function commitAgain(
  entries: (MirrorAction & { do: 'commitAgain' })['entries'],
  spec: MirrorSpec,
  view: View<MirrorLook>,
  ctx: SteerContext,
): Promise<void> {
  const { checkpoints } = ctx.kafka(spec.from)
  const group = `millrace.${ctx.flow}`
  const asked = offsetsIn(group)
  const found = await within(ctx, performTimeoutMs, asked, signal => checkpoints.load(group, 'all', signal))
  const stored = new Map(found.map(entry => [unitName(entry), entry]))
  const same = entries.filter(({ offset, metadata, ...part }) => {
    const now = stored.get(unitName(part))
    return now?.offset === offset && now.metadata === metadata
  })
  if (same.length === 0) return
  const refused = await within(ctx, performTimeoutMs, asked, signal =>
    checkpoints.save(group, same, ctx.mayWrite, signal),
  )
  const open = new Set(refused.map(one => unitName(one.part)))
  const nowMs = ctx.clock.nowMs()
  for (const entry of same) {
    const seen = view.offsets.get(unitName(entry))
    if (seen && !open.has(unitName(entry))) seen.sinceMs = nowMs
  }
  if (refused.length > 0) throw notStored(refused, group)
}

function errorOf(fault: Fault): MillraceError {
  const retryable = fault.code === 'kafka-not-authorized' || fault.code === 'kafka-unreachable'
  return new MillraceError(fault.code, fault.message, { retryable, hint: fault.hint })
}
