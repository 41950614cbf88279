import { type Fault, MillraceError } from '../errors.ts'
import type { WorkerContext } from '../flow/contract.ts'
import { otherTopic, startPosition, stoppedHint } from '../flow/position.ts'
import { partOf, unitName } from '../flow/unitName.ts'
import { checkpointOf, restart } from '../flow/window.ts'
import { within } from '../flow/within.ts'
import { performTimeoutMs } from '../limits.ts'
import type { Entry, Part, TopicView } from '../ports/kafka.ts'
import { type CheckpointMetadata, checkpointFrom } from './decide/checkpointMetadata.ts'
import { namingOf } from './decide/destinationNames.ts'
import { goOnElsewhere, remedy } from './decide/remedy.ts'
import { offsetsIn } from './groupOffsets.ts'
import { tellPosition } from './jump.ts'
import { newUnit, type Unit } from './run.ts'
import type { MirrorSpec } from './spec.ts'

/** A unit that asks where it begins; `signal`: it does not want to know any more. */
export type Asked = { part: Part; signal: AbortSignal }
/** A unit that may run, or why it must not: then it must not be tried before something has changed. */
export type Placed = { unit: Unit; error: MillraceError | null }

const neverAborted = new AbortController().signal

type Facts = {
  part: Part
  destination: Part
  entry: Entry
  metadata: CheckpointMetadata | null
  topicId: string
  destinationId: string
  logStart: bigint
  lastStable: bigint
  highWatermark: bigint
}

/**
 * Where units begin: at their committed offsets, by the rows of M-70 that have one. `known` are the units that this
 * process has run before: they go on in their own windows, unless somebody has set the offset since. Gives an error
 * for each that cannot begin, and nothing of those that were stopped meanwhile; rejects, retryably, when a cluster does
 * not answer.
 */
export async function placeUnits(
  asked: readonly Asked[],
  known: ReadonlyMap<string, Unit>,
  how: { spec: MirrorSpec; ctx: WorkerContext },
): Promise<Map<string, Placed | MillraceError>> {
  const nameOf = namingOf(how.spec.naming)
  const parts = asked.map(one => one.part)
  const facts = await gather(parts, nameOf, how)
  const placed = new Map<string, Placed | MillraceError>()
  for (const { part, signal } of asked) {
    // Stopped while the facts were on their way, it may have begun again and gone on: they would put it back to where
    // it stood then, and what is under way would be out of its window (M-42).
    if (signal.aborted) continue
    const name = unitName(part)
    const destination = { topic: nameOf(part.topic), partition: part.partition }
    const source = facts.sources.get(part.topic)
    const target = facts.destinations.get(destination.topic)
    const entry = facts.entries.get(name) ?? null
    const logStart = facts.starts.get(name) ?? null
    const lastStable = facts.stables.get(name) ?? null
    const highWatermark = facts.ends.get(name) ?? null
    if (!source || logStart === null || lastStable === null || highWatermark === null) placed.set(name, away(name))
    else if (!target) placed.set(name, gone(destination))
    else {
      const ids = { part, destination, topicId: source.topicId, destinationId: target.topicId }
      const at = { offset: entry?.offset ?? 0n, epoch: entry?.epoch ?? -1 }
      const unit = known.get(name) ?? newUnit({ ...ids, at, nowMs: how.ctx.clock.nowMs() })
      const metadata = entry && checkpointFrom(entry.metadata)
      const one = entry && { entry, metadata, ...ids, logStart, lastStable, highWatermark }
      placed.set(name, one ? placeOne(unit, one, known.has(name), how) : { unit, error: lost(name, how.ctx.flow) })
    }
  }
  return placed
}

async function gather(
  parts: readonly Part[],
  nameOf: (topic: string) => string,
  { spec, ctx }: { spec: MirrorSpec; ctx: WorkerContext },
) {
  const from = ctx.kafka(spec.from)
  const to = ctx.kafka(spec.to)
  const topics = [...new Set(parts.map(part => part.topic))]
  const offsets = async (at: 'start' | 'stable' | 'end') =>
    new Map((await from.admin.offsets([...parts], at)).map(one => [unitName(one), one.offset]))
  const group = `millrace.${ctx.flow}`
  const load = (late: AbortSignal) => from.checkpoints.load(group, 'all', late)
  const [sources, destinations, stored, starts, stables, ends] = await Promise.all([
    from.admin.look(topics).then(byName),
    to.admin.look(topics.map(nameOf)).then(byName),
    within({ clock: ctx.clock, signal: neverAborted }, performTimeoutMs, offsetsIn(group), load),
    offsets('start'),
    offsets('stable'),
    offsets('end'),
  ])
  return {
    sources,
    destinations,
    entries: new Map(stored.map(entry => [unitName(entry), entry])),
    starts,
    stables,
    ends,
  }
}

function placeOne(
  unit: Unit,
  facts: Facts,
  isKnown: boolean,
  { spec, ctx }: { spec: MirrorSpec; ctx: WorkerContext },
): Placed {
  const { part, destination, entry, metadata, topicId, destinationId, logStart, lastStable, highWatermark } = facts
  const nowMs = ctx.clock.nowMs()
  const at = { offset: entry.offset, epoch: entry.epoch }
  const isNewlySet = metadata?.setMs != null && entry.metadata !== unit.stored?.metadata
  unit.stored = entry
  const end = spec.isolation === 'read_committed' ? lastStable : highWatermark
  if (ctx.untilEnd) unit.until ??= end
  unit.counts.logStart = logStart
  unit.counts.lastStable = lastStable
  unit.counts.end = highWatermark
  const remade = metadata !== null && otherTopic(metadata.destinationId, destinationId)
  if (remade) {
    unit.committed = entry.offset
    return { unit, error: destinationRecreated(destination) }
  }
  // Ours is the newer one: what is stored is what we stored last, or a commit of ours that came late; but what somebody
  // has set since (M-94) says where to go on, also at an offset that we have stored ourselves.
  const goesOn = isKnown && !isNewlySet && unit.topicId === topicId && isOurs(unit, facts)
  unit.destinationId = destinationId
  if (goesOn) return { unit, error: null }
  unit.ownedSinceMs = nowMs
  unit.committed = entry.offset
  unit.committedMs = null
  unit.destinationNext = metadata?.destinationNext ?? null
  const found = position(facts, spec, ctx.untilEnd)
  if ('error' in found) {
    restart(unit.window, at)
    const message = `${unitName(part)}: the checkpoint ${entry.offset} cannot be gone on from, and the flow says to stop`
    return { unit, error: new MillraceError(found.error, message, { hint: stoppedHint }) }
  }
  if ('unavailable' in found) return { unit, error: away(unitName(part)) }
  // A position that moved has no batch before it that the source would know.
  restart(unit.window, { offset: found.at, epoch: found.at === entry.offset ? entry.epoch : -1 })
  unit.topicId = topicId
  if (found.event) tellPosition(ctx.tell, unit, found.event, found.at)
  return { unit, error: null }
}

function isOurs(unit: Unit, { entry, metadata }: Facts): boolean {
  if (metadata === null || otherTopic(metadata.sourceId, unit.topicId)) return false
  return unit.committed === entry.offset || (unit.committed === null && entry.offset <= checkpointOf(unit.window))
}

function position(facts: Facts, spec: MirrorSpec, untilEnd: boolean): ReturnType<typeof startPosition> {
  const { entry, metadata, topicId, logStart, lastStable, highWatermark } = facts
  const found = startPosition({
    checkpoint: { offset: entry.offset, topicId: metadata?.sourceId ?? '' },
    topicId,
    partition: entry.partition,
    parts: null,
    found: 'later',
    logStart,
    lastStable,
    highWatermark,
    atTime: null,
    isolation: spec.isolation,
    start: spec.start,
    gaps: spec.gaps,
  })
  if ('at' in found && found.event?.code === 'source-truncated' && entry.epoch >= 0 && !untilEnd) {
    // The log may have grown again behind the cut: the epoch tells the first fetch where they part (M-72).
    return { at: entry.offset, event: null }
  }
  return found
}

function byName(view: { topics: TopicView[] }): Map<string, TopicView> {
  return new Map(view.topics.filter(t => t.code === 0).map(t => [t.topic, t]))
}

function lost(name: string, flow: string): MillraceError {
  const group = `millrace.${flow}`
  const message = `${name}: its committed offset in group ${group} of the source is gone`
  const hint = `find out who deleted it; then set it: ${goOnElsewhere({ flow, ...partOf(name) })}`
  return new MillraceError('checkpoint-lost', message, { hint })
}

function away(name: string): MillraceError {
  return new MillraceError('source-missing', `${name}: the source does not tell where its log begins and ends`, {
    retryable: true,
  })
}

function gone({ topic }: Part): MillraceError {
  return new MillraceError('destination-missing', `${topic}: the destination has no such topic`, { retryable: true })
}

function destinationRecreated(destination: Part): MillraceError {
  const message = `${unitName(destination)}: the destination topic was deleted and made anew after we copied to it`
  return new MillraceError('destination-recreated', message)
}

/** As data, with the offset at which the copy stands. */
export function faultAt(error: MillraceError, unit: Unit, flow: string): Fault & { offset: bigint } {
  const { code, message } = error
  const offset = checkpointOf(unit.window)
  // What sees the fault knows neither the flow nor that a skip must name the checkpoint.
  const hint = remedy(code, error.hint, { flow, ...unit.part, offset })
  return { code, message, hint, offset }
}
