import { type Fault, type FaultCode, MillraceError } from '../errors.ts'
import type { OffsetChange, OffsetsWish, SteerContext, View } from '../flow/contract.ts'
import { partOf, unitName } from '../flow/unitName.ts'
import { within } from '../flow/within.ts'
import { performTimeoutMs } from '../limits.ts'
import type { Entry, Part, TopicId } from '../ports/kafka.ts'
import { checkpointText } from './decide/checkpointMetadata.ts'
import { namingOf } from './decide/destinationNames.ts'
import { offsetTarget } from './decide/offsetTarget.ts'
import { partitionsOf } from './decide/planTopics.ts'
import { notStoredHint, offsetsIn } from './groupOffsets.ts'
import { logEnds } from './logEnds.ts'
import type { MirrorLook } from './look.ts'
import type { MirrorSpec } from './spec.ts'

/**
 * Puts checkpoints where people want them (M-94), with the ids that both topics have today: so whatever was lost or
 * made anew before, the copy goes on from there (M-15, M-16, M-70). With `dryRun` nothing is written.
 */
export async function setOffsets(
  wish: OffsetsWish,
  spec: MirrorSpec,
  view: View<MirrorLook>,
  ctx: SteerContext,
): Promise<OffsetChange[]> {
  const parts = [...wish.units].map(partOf)
  const { stored, sources, destinations, ends } = await gather(parts, wish.to, spec, ctx)
  if (!wish.dryRun) refuseBeforeStart(wish.units, { stored, spec, view })
  const nameOf = namingOf(spec.naming)
  const entries: Entry[] = []
  const changes = parts.map((part): OffsetChange => {
    const unit = unitName(part)
    const before = stored.get(unit)?.offset ?? null
    const sourceId = sources.get(part.topic)
    const end = spec.isolation === 'read_committed' ? ends.stables : ends.ends
    const target = whyNot(unit, sourceId, view, spec) ?? {
      ...offsetTarget(wish.to, {
        unit,
        logStart: ends.starts.get(unit)?.offset ?? null,
        end: end.get(unit)?.offset ?? null,
        atTime: ends.times.get(unit)?.offset ?? null,
        atTimeCode: ends.times.get(unit)?.code ?? 0,
      }),
    }
    if ('fault' in target) return { ...part, before, after: null, fault: target.fault }
    const destinationId = destinations.get(nameOf(part.topic)) ?? ''
    const ids = { sourceId: sourceId ?? '', destinationId, epoch: -1, destinationNext: null }
    const metadata = checkpointText({ ...ids, setMs: ctx.clock.wallMs() })
    entries.push({ ...part, offset: target.at, epoch: -1, metadata })
    return { ...part, before, after: target.at, fault: null }
  })
  if (wish.dryRun || entries.length === 0) return changes
  const refused = await save(entries, spec, ctx)
  return changes.map(change => {
    const code = refused.get(unitName(change))
    return code === undefined ? change : { ...change, after: null, fault: notStored(change, code, ctx.flow) }
  })
}

async function gather(parts: readonly Part[], to: OffsetsWish['to'], spec: MirrorSpec, ctx: SteerContext) {
  const from = ctx.kafka(spec.from)
  const nameOf = namingOf(spec.naming)
  const topics = [...new Set(parts.map(part => part.topic))]
  const group = `millrace.${ctx.flow}`
  const [source, destination, entries] = await Promise.all([
    from.admin.look(topics),
    ctx.kafka(spec.to).admin.look(topics.map(nameOf)),
    within(ctx, performTimeoutMs, offsetsIn(group), signal => from.checkpoints.load(group, 'all', signal)),
  ])
  const ids = (view: typeof source): Map<string, TopicId> =>
    new Map(view.topics.filter(({ code }) => code === 0).map(({ topic, topicId }) => [topic, topicId]))
  const sources = ids(source)
  const timeMs = typeof to === 'object' && 'timeMs' in to ? to.timeMs : null
  const there = parts.filter(({ topic }) => sources.has(topic))
  return {
    sources,
    destinations: ids(destination),
    stored: new Map(entries.map(entry => [unitName(entry), entry])),
    ends: await logEnds(from.admin, there, timeMs),
  }
}

/**
 * All first starts are one commit (M-70): with one offset stored the others would be later ones, and begin at their log
 * start whatever the flow says.
 */
function refuseBeforeStart(
  units: ReadonlySet<string>,
  { stored, spec, view }: { stored: ReadonlyMap<string, Entry>; spec: MirrorSpec; view: View<MirrorLook> },
): void {
  const hasBegun = stored.size > 0 || [...(view.ours?.values() ?? [])].some(one => one.parts > 0)
  if (spec.start === 'earliest' || hasBegun || partitionsOf(spec, view).every(unit => units.has(unit))) return
  const message = `${view.flow}: where it begins is not stored yet, and that is done for all of its partitions at once`
  throw new MillraceError('conflict', message, { hint: 'ask again when it shows checkpoints, or set all of them' })
}

function whyNot(
  unit: string,
  sourceId: TopicId | undefined,
  view: View<MirrorLook>,
  spec: MirrorSpec,
): { fault: Fault } | null {
  if (view.owned.has(unit)) {
    const message = `${unit}: it runs, and would write its own checkpoint over it`
    return { fault: { code: 'conflict', message, hint: 'pause it, and wait until nobody holds it' } }
  }
  if (sourceId !== undefined) return null
  const message = `${unit}: ${spec.from} has no such topic now`
  return { fault: { code: 'source-missing', message, hint: null } }
}

async function save(entries: Entry[], spec: MirrorSpec, ctx: SteerContext): Promise<Map<string, string>> {
  const group = `millrace.${ctx.flow}`
  const { checkpoints } = ctx.kafka(spec.from)
  const refused = await within(ctx, performTimeoutMs, offsetsIn(group), signal =>
    checkpoints.save(group, entries, ctx.mayWrite, signal),
  )
  return new Map(refused.map(({ part, code }) => [unitName(part), code]))
}

const codes: readonly FaultCode[] = ['group-in-use', 'kafka-not-authorized', 'source-missing']

function notStored(part: Part, code: string, flow: string): Fault {
  const group = `millrace.${flow}`
  const message = `${unitName(part)}: its offset cannot be stored in group ${group} at the source (${code})`
  return {
    code: codes.find(known => known === code) ?? 'kafka-unreachable',
    message,
    hint: notStoredHint(code, group),
  }
}
