import { otherTopic, type Placed, startPosition } from '../flow/position.ts'
import type { ClusterAdmin, Entry, KafkaCluster, Part } from '../ports/kafka.ts'
import type { CopySpec } from './copy.ts'
import { type CheckpointMetadata, checkpointFrom } from './decide/checkpointMetadata.ts'
import type { UnitPlan } from './decide/unitsOf.ts'
import type { Tell } from './events.ts'
import { tellPosition } from './jump.ts'
import { newUnit, type Unit } from './run.ts'

export type Placing = {
  /** With their position; one with a `fault` must not run. */
  units: Unit[]
  /** Their facts could not be had: looked up again (M-70). */
  unavailable: UnitPlan[]
}

/** Where the planned partitions begin, and with `untilEnd` where they end: the ends seen now (M-70, M-100). */
export async function placeUnits(
  plans: readonly UnitPlan[],
  how: { from: KafkaCluster; group: string; spec: CopySpec; untilEnd: boolean; tell: Tell; stop: AbortSignal },
): Promise<Placing> {
  const { from, group, spec } = how
  const stored = await from.checkpoints.load(group, 'all', how.stop)
  const entries = new Map(stored.map(entry => [keyOf(entry), entry]))
  const parts = plans.map(({ topic, partition }) => ({ topic, partition }))
  const [starts, stables, ends] = await Promise.all([
    offsetsOf(from.admin, parts, 'start'),
    offsetsOf(from.admin, parts, 'stable'),
    offsetsOf(from.admin, parts, 'end'),
  ])
  const placing: Placing = { units: [], unavailable: [] }
  for (const plan of plans) {
    const key = keyOf(plan)
    const entry = entries.get(key) ?? null
    const metadata = entry && checkpointFrom(entry.metadata)
    const lastStable = stables.get(key) ?? null
    const highWatermark = ends.get(key) ?? null
    let placed = startPosition({
      checkpoint: entry && { offset: entry.offset, topicId: metadata?.sourceId ?? '' },
      topicId: plan.topicId,
      partition: plan.partition,
      parts: null,
      found: stored.length === 0 ? 'first' : 'later',
      logStart: starts.get(key) ?? null,
      lastStable,
      highWatermark,
      atTime: null,
      isolation: spec.isolation,
      start: 'earliest',
      gaps: spec.gaps,
    })
    if ('unavailable' in placed) {
      placing.unavailable.push(plan)
      continue
    }
    const until = how.untilEnd ? (spec.isolation === 'read_committed' ? lastStable : highWatermark) : null
    if ('at' in placed && placed.event?.code === 'source-truncated' && entry && entry.epoch >= 0 && until === null) {
      // The log may have grown again behind the cut: the epoch tells the first fetch where they part (M-72).
      placed = { at: entry.offset, event: null }
    }
    const unit = unitAt(plan, placed, { entry, metadata, until, group })
    unit.counts.logStart = starts.get(key) ?? null
    unit.counts.lastStable = lastStable
    unit.counts.end = highWatermark
    if ('at' in placed && placed.event) tellPosition(how.tell, unit, placed.event, placed.at)
    placing.units.push(unit)
  }
  return placing
}

function unitAt(
  plan: UnitPlan,
  placed: Exclude<Placed, { unavailable: true }>,
  found: { entry: Entry | null; metadata: CheckpointMetadata | null; until: bigint | null; group: string },
): Unit {
  const { topic, partition, topicId, destinationId } = plan
  const { entry, metadata, until, group } = found
  const offset = 'at' in placed ? placed.at : (entry?.offset ?? 0n)
  // A position that moved has no batch before it that the source would know.
  const epoch = entry?.offset === offset ? entry.epoch : -1
  const part = { topic, partition }
  const unit = newUnit({ part, topicId, destinationId, at: { offset, epoch }, until, committed: entry?.offset ?? null })
  if ('error' in placed) {
    const message = `${topic}/${partition}: the checkpoint ${entry?.offset ?? 'of this topic'} cannot be gone on from`
    unit.fault = { code: placed.error, message, hint: null, offset }
  } else if (metadata && otherTopic(metadata.destinationId, destinationId)) {
    const message = `${topic}/${partition}: the destination topic was deleted and made anew after we copied to it`
    const hint = `to copy all again, delete the offsets of group ${group} for topic ${topic} at the source`
    unit.fault = { code: 'destination-recreated', message, hint, offset }
  } else if (entry) unit.destinationNext = metadata?.destinationNext ?? null
  return unit
}

async function offsetsOf(
  admin: ClusterAdmin,
  parts: Part[],
  at: 'start' | 'stable' | 'end',
): Promise<Map<string, bigint | null>> {
  const found = await admin.offsets(parts, at)
  return new Map(found.map(one => [keyOf(one), one.offset]))
}

export function keyOf(part: Part): string {
  return `${part.topic}/${part.partition}`
}
