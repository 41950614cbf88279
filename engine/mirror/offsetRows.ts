import type { OffsetRow, ReadContext } from '../flow/contract.ts'
import type { Overlay } from '../flow/overlay.ts'
import { partOf, unitName } from '../flow/unitName.ts'
import { within } from '../flow/within.ts'
import { performTimeoutMs } from '../limits.ts'
import type { Part } from '../ports/kafka.ts'
import { selected } from './decide/selected.ts'
import { offsetsIn } from './groupOffsets.ts'
import { logEnds } from './logEnds.ts'
import type { MirrorSpec } from './spec.ts'

/** Of every partition that is selected, and of those that were copied and whose topic is not there now (M-94). */
export async function offsetRows(spec: MirrorSpec, overlay: Overlay, ctx: ReadContext): Promise<OffsetRow[]> {
  const { admin, checkpoints } = ctx.kafka(spec.from)
  const group = `millrace.${ctx.flow}`
  const [source, entries] = await Promise.all([
    admin.look('all'),
    within(ctx, performTimeoutMs, offsetsIn(group), signal => checkpoints.load(group, 'all', signal)),
  ])
  const isTaken = selected(spec.topics, overlay.topics)
  const seen = new Map(source.topics.map(topic => [topic.topic, topic]))
  const there = [...seen.values()]
    .filter(({ topic, internal }) => isTaken(topic, internal).selected)
    .flatMap(({ topic, partitions }) => partitions.map(({ partition }) => ({ topic, partition })))
  const stored = new Map(entries.map(entry => [unitName(entry), entry.offset]))
  const { starts, stables, ends } = await logEnds(admin, there, null)
  const units = new Set(there.map(unitName))
  for (const { topic, partition } of entries) {
    if (!seen.has(topic) && isTaken(topic, false).selected) units.add(unitName({ topic, partition }))
  }
  const rows = [...units].map(unit => ({
    ...partOf(unit),
    checkpoint: stored.get(unit) ?? null,
    logStart: starts.get(unit)?.offset ?? null,
    lastStable: stables.get(unit)?.offset ?? null,
    highWatermark: ends.get(unit)?.offset ?? null,
  }))
  return rows.sort(byPart)
}

function byPart(a: Part, b: Part): number {
  if (a.topic !== b.topic) return a.topic < b.topic ? -1 : 1
  return a.partition - b.partition
}
