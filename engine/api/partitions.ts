import { z } from 'zod'
import { faultOf, MillraceError } from '../errors.ts'
import { type FlowDoc, overlayOf } from '../fleet/decide/documents/flow.ts'
import type { HeldError } from '../fleet/decide/documents/held.ts'
import { paths } from '../fleet/decide/documents/paths.ts'
import { readStats, type UnitStats } from '../fleet/decide/documents/stats.ts'
import { isPaused } from '../flow/overlay.ts'
import { type PartitionState, partitionStates } from '../flow/states.ts'
import { unitName } from '../flow/unitName.ts'
import { flowOf, knownOf, partitionIn, topicIn } from './named.ts'
import { lagOf, offsetsOf } from './offsets.ts'
import type { Known, KnownUnit } from './parts.ts'
import { notAmong } from './refusal.ts'
import { type Ask, type Route, route } from './route.ts'
import { answer, fault, offsetOrNull } from './words.ts'

const lease = z.strictObject({
  beatAgeMs: z.int(),
  leaseMs: z.int(),
  state: z.string(),
  wanted: z.strictObject({ epoch: z.int(), generation: z.int() }).nullable(),
  applied: z.strictObject({ epoch: z.int(), generation: z.int() }).nullable(),
})
const why = z.strictObject({
  owner: z.string().nullable(),
  inTransit: z.strictObject({ from: z.string(), ms: z.int() }).nullable(),
  intent: z.string().nullable(),
  wish: z.string().nullable(),
  unplaced: z.string().nullable(),
  weight: z.number().nullable(),
  lease: lease.nullable(),
  nextTryMs: z.int().nullable(),
  flowFault: fault.nullable(),
  brokers: fault.nullable().describe('why the brokers were not asked or did not answer'),
})

export const partitionRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/v1/flows/{flow}/partitions/{topic}/{partition}',
    role: 'viewer',
    summary: 'All that is known of one partition; with ?why also who has it and why it stands where it does',
    leader: 'need',
    query: z.strictObject({ why: z.enum(['', 'true', 'false']).optional() }),
    answers: {
      200: answer({
        flow: z.string(),
        topic: z.string(),
        partition: z.int(),
        destination: z.strictObject({ topic: z.string(), partition: z.int() }).nullable(),
        state: z.enum(partitionStates),
        reason: z.string().nullable(),
        since: z.iso.datetime().nullable(),
        worker: z.string().nullable(),
        checkpoint: offsetOrNull,
        logStart: offsetOrNull,
        lastStable: offsetOrNull,
        highWatermark: offsetOrNull,
        lagRecords: offsetOrNull,
        lagSeconds: z.number().nullable(),
        bytesPerSecond: z.number().nullable(),
        error: fault.extend({ offset: z.string().nullable() }).nullable(),
        why: why.optional(),
      }),
    },
    handle: getPartition,
  }),
]

async function getPartition(ask: Ask<{ why?: string | undefined }>) {
  const { flow, doc } = await flowOf(ask)
  const [topic, partition] = [topicIn(ask), partitionIn(ask)]
  const known = knownOf(ask)
  const inFlow = unitName({ topic, partition })
  const name = `${flow}/${inFlow}`
  const unit = known.unit(name)
  const report = known.flows().get(flow)?.report()?.topics ?? []
  const inReport = report.find(one => one.topic === topic)
  const isOverlaid = doc.overlay.topics.has(topic) || isPaused(overlayOf(doc), topic, partition)
  if (unit === null && !isOverlaid && (inReport?.partitions ?? 0) <= partition) {
    const message = `flow ${flow} has no partition ${topic}/${partition}`
    if (!inReport) {
      throw notAmong(
        message,
        topic,
        report.map(one => one.topic),
      )
    }
    const last = inReport.partitions - 1
    throw new MillraceError('not-found', message, { hint: `${topic} has partitions 0 to ${last}` })
  }
  const stats = known.stats?.(flow).get(inFlow) ?? (await statsOf(ask, unit?.owner ?? null, name))
  const error = errorOf(known, name)
  const { row, trouble } = await rowOf(ask, doc, { flow, topic, partition })
  const lag = row && lagOf(row.checkpoint, row.logStart, row.lastStable)
  const isSilent = unit?.owner != null && (known.workers().get(unit.owner)?.silent ?? false)
  const standing = stateOf(doc, {
    topic,
    partition,
    unit,
    stats,
    error,
    isRefused: inReport?.state === 'refused',
    isSilent,
  })
  return {
    status: 200,
    body: {
      flow,
      topic,
      partition,
      destination: inReport ? { topic: inReport.destination, partition } : null,
      ...standing,
      since: error === null ? null : new Date(error.sinceMs).toISOString(),
      worker: unit?.owner ?? null,
      checkpoint: row?.checkpoint ?? null,
      logStart: row?.logStart ?? null,
      lastStable: row?.lastStable ?? null,
      highWatermark: row?.highWatermark ?? null,
      lagRecords: lag ?? stats?.lagRecords ?? null,
      lagSeconds: null,
      bytesPerSecond: stats?.bytesPerSecond ?? null,
      error: error && { code: error.code, message: error.code, hint: null, offset: error.offset },
      ...(ask.query.why === undefined || ask.query.why === 'false'
        ? {}
        : { why: whyOf(ask, { known, flow, unit, trouble }) }),
    },
  }
}

/** What the owner says of it; what nobody owns is said by what stands in the way. */
export function stateOf(
  doc: FlowDoc,
  of: {
    topic: string
    partition: number
    unit: Pick<KnownUnit, 'owner' | 'why'> | null
    stats: UnitStats | null
    error: HeldError | null
    /** Its topic, by what the leader has seen. */
    isRefused: boolean
    /** Whoever has it is not heard. */
    isSilent: boolean
  },
): { state: PartitionState; reason: string | null } {
  if (isPaused(overlayOf(doc), of.topic, of.partition)) return { state: 'paused', reason: 'somebody paused it' }
  if (of.error) return { state: 'error', reason: of.error.code }
  const silent = of.isSilent ? 'its worker is silent: it may not run' : null
  if (of.stats) return { state: of.stats.state, reason: of.unit?.why ?? silent }
  if (of.unit?.owner) return { state: 'running', reason: silent }
  if (of.unit === null && of.isRefused) return { state: 'refused', reason: 'its topic is refused' }
  return { state: 'waiting', reason: of.unit?.why ?? (of.unit ? 'nobody has it yet' : 'it is not ready to run') }
}

export function errorOf(known: Pick<Known, 'workers'>, unit: string): HeldError | null {
  for (const { errors } of known.workers().values()) {
    const found = errors.find(error => error.unit === unit)
    if (found) return found
  }
  return null
}

async function statsOf(ask: Ask, owner: string | null, unit: string): Promise<UnitStats | null> {
  if (owner === null) return null
  const node = await ask.seen.read(paths.stats(owner))
  return node ? (readStats(node.data, paths.stats(owner)).of.get(unit) ?? null) : null
}

/** Both brokers' last answers; that they give none is told, and hides nothing else. */
async function rowOf(
  ask: Ask,
  doc: FlowDoc,
  { flow, topic, partition }: { flow: string; topic: string; partition: number },
) {
  try {
    const rows = await offsetsOf(ask, flow, doc)
    return { row: rows?.find(row => row.topic === topic && row.partition === partition) ?? null, trouble: null }
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error
    return { row: null, trouble: faultOf(error, error.code) }
  }
}

function whyOf(
  { parts }: Ask,
  { known, flow, unit, trouble }: { known: Known; flow: string; unit: KnownUnit | null; trouble: unknown },
) {
  const nowMs = parts.clock.nowMs()
  const owner = unit?.owner == null ? null : (known.workers().get(unit.owner) ?? null)
  const of = known.flows().get(flow)
  return {
    owner: unit?.owner ?? null,
    inTransit: unit?.inTransit
      ? { from: unit.inTransit.from, ms: Math.max(0, Math.round(nowMs - unit.inTransit.sinceMs)) }
      : null,
    intent: unit?.intent ?? null,
    wish: unit?.wish ?? null,
    unplaced: unit?.why ?? null,
    weight: unit?.weight ?? null,
    lease: owner && {
      beatAgeMs: Math.round(owner.beatAgeMs),
      leaseMs: owner.doc.leaseMs,
      state: owner.silent ? 'silent' : owner.state,
      wanted: owner.wanted && { epoch: owner.wanted.epoch, generation: owner.wanted.generation },
      applied: owner.applied && { epoch: owner.applied.epoch, generation: owner.applied.generation },
    },
    nextTryMs: of?.nextTryMs == null ? null : Math.max(0, Math.round(of.nextTryMs - nowMs)),
    flowFault: of?.fault ?? null,
    brokers: trouble,
  }
}
