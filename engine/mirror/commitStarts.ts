import { MillraceError } from '../errors.ts'
import type { SteerContext, Undone, View } from '../flow/contract.ts'
import { startPosition } from '../flow/position.ts'
import { unitName } from '../flow/unitName.ts'
import { within } from '../flow/within.ts'
import { performTimeoutMs } from '../limits.ts'
import type { Entry, KafkaCluster, Part } from '../ports/kafka.ts'
import { checkpointText } from './decide/checkpointMetadata.ts'
import type { MirrorAction, StartPlan } from './decide/steerMirror.ts'
import { notStored, offsetsIn } from './groupOffsets.ts'
import type { MirrorLook } from './look.ts'
import type { MirrorSpec } from './spec.ts'

type Starts = MirrorAction & { do: 'commitStarts' }

/**
 * Fixes where partitions begin (M-70): all first ones in one commit. What has an offset by now keeps it. Partitions
 * whose facts cannot be had now are asked for again by the next `steer`; of first ones then nothing is stored.
 */
export async function commitStarts(
  action: Starts,
  spec: MirrorSpec,
  view: View<MirrorLook>,
  ctx: SteerContext,
): Promise<Undone[]> {
  const { parts, first } = action
  const from = ctx.kafka(spec.from)
  const group = `millrace.${ctx.flow}`
  const stored = await within(ctx, performTimeoutMs, offsetsIn(group), signal =>
    from.checkpoints.load(group, 'all', signal),
  )
  const there = new Set(stored.map(unitName))
  // Stored by another leader since the look: then these are no first ones any more, and the next look says so.
  if (first && stored.length > 0) return []
  const open = parts.filter(part => !there.has(unitName(part)))
  const entries = await entriesOf(open, { from, spec, first })
  const known = new Set(entries.map(unitName))
  const unknown = open.filter(part => !known.has(unitName(part)))
  // From the log start on is what a later one gets: of that start nothing is lost when it comes later.
  if (unknown.length > 0 && first && spec.start !== 'earliest') throw notKnown(unknown.length, view)
  const undone = unknown.map(part => ({ item: unitName(part), error: notKnown(1, view) }))
  if (entries.length === 0) return undone
  const refused = await within(ctx, performTimeoutMs, offsetsIn(group), signal =>
    from.checkpoints.save(group, entries, ctx.mayWrite, signal),
  )
  if (refused.length > 0) throw notStored(refused, group)
  for (const [topic, part] of new Map(open.map(part => [part.topic, part]))) tellMadeAnew(ctx, topic, part)
  return undone
}

async function entriesOf(
  parts: StartPlan[],
  how: { from: KafkaCluster; spec: MirrorSpec; first: boolean },
): Promise<Entry[]> {
  const { from, spec, first } = how
  const ask = async (at: 'start' | 'stable' | 'end' | { timeMs: number }, of: Part[] = parts) => {
    const found = await from.admin.offsets(
      of.map(({ topic, partition }) => ({ topic, partition })),
      at,
    )
    return new Map(found.map(one => [unitName(one), one]))
  }
  const time = first && typeof spec.start === 'object' ? spec.start : null
  const [starts, stables, ends, times] = await Promise.all([
    ask('start'),
    ask('stable'),
    ask('end'),
    time ? ask(time) : new Map<string, { offset: bigint | null; code: number }>(),
  ])
  const entries: Entry[] = []
  for (const part of parts) {
    const { topic, partition, topicId, destinationId } = part
    const unit = unitName(part)
    const atTime = times.get(unit)
    if (atTime && atTime.code !== 0) continue
    const placed = startPosition({
      checkpoint: null,
      topicId,
      partition,
      parts: null,
      found: first ? 'first' : 'later',
      logStart: starts.get(unit)?.offset ?? null,
      lastStable: stables.get(unit)?.offset ?? null,
      highWatermark: ends.get(unit)?.offset ?? null,
      atTime: atTime?.offset ?? null,
      isolation: spec.isolation,
      start: spec.start,
      gaps: spec.gaps,
    })
    if (!('at' in placed)) continue
    const metadata = checkpointText({ sourceId: topicId, destinationId, epoch: -1, destinationNext: null })
    entries.push({ topic, partition, offset: placed.at, epoch: -1, metadata })
  }
  return entries
}

function notKnown(count: number, view: View<MirrorLook>): MillraceError {
  const message = `the log ends of ${count} partitions of cluster ${view.source.clusterId} are not known now: no leader`
  return new MillraceError('kafka-unreachable', message, { retryable: true })
}

/** Found when nobody ran: the unit says it itself while it runs (M-15). */
function tellMadeAnew(ctx: SteerContext, topic: string, part: StartPlan): void {
  if (part.oldId === null) return
  const message = `${topic}: the topic was made anew; it is copied from its log start, behind what was copied before`
  ctx.tell({ code: 'topic-recreated', message, topic, oldId: part.oldId, newId: part.topicId })
}
