import { z } from 'zod'
import type { FlowDoc } from '../fleet/decide/documents/flow.ts'
import { overlayOf } from '../fleet/decide/documents/flow.ts'
import type { OffsetRow } from '../flow/contract.ts'
import { isPaused } from '../flow/overlay.ts'
import { offsetsReadMs, performTimeoutMs, unitsShownMax } from '../limits.ts'
import { heldOf } from './heldUnits.ts'
import { checkMatch } from './match.ts'
import { flowOf, knownOf } from './named.ts'
import type { OffsetsRequest } from './parts.ts'
import { conflict, refused } from './refusal.ts'
import { type Ask, type Route, route } from './route.ts'
import { soon } from './soon.ts'
import { allOrRanges, answer, byTopic, fault, offset, offsetOrNull } from './words.ts'

const putBody = z.strictObject({
  parts: z
    .union([z.literal('*'), byTopic(allOrRanges)])
    .meta({ description: '"*", or partitions by topic: {"clicks": "0-3", "views": "*"}' }),
  to: z.union([z.enum(['earliest', 'latest']), z.strictObject({ timeMs: z.int().min(0) }), z.strictObject({ offset })]),
  dryRun: z.boolean().optional(),
})
type PutBody = z.infer<typeof putBody>

const part = { topic: z.string(), partition: z.int() }
const rows = z.array(
  z.strictObject({
    ...part,
    checkpoint: offsetOrNull,
    logStart: offsetOrNull,
    lastStable: offsetOrNull,
    highWatermark: offsetOrNull,
    lagRecords: offsetOrNull,
  }),
)

export const offsetRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/v1/flows/{flow}/offsets',
    role: 'viewer',
    summary: 'Of each partition its checkpoint, and the ends of its log',
    answers: { 200: answer({ flow: z.string(), offsets: rows }) },
    async handle(ask) {
      const { flow, doc } = await flowOf(ask)
      const read = await offsetsOf(ask, flow, doc)
      if (read === null) throw refused('not-found', 'no offsets are read here', { status: 404 })
      const offsets = read.map(({ topic, partition, checkpoint, logStart, lastStable, highWatermark }) => {
        const lagRecords = lagOf(checkpoint, logStart, lastStable)
        return { topic, partition, checkpoint, logStart, lastStable, highWatermark, lagRecords }
      })
      return { status: 200, body: { flow, offsets } }
    },
  }),
  route({
    method: 'PUT',
    path: '/v1/flows/{flow}/offsets',
    role: 'operator',
    summary: 'Sets checkpoints of partitions that are paused and that nobody runs; dryRun shows what would be set',
    leader: 'need',
    leaderMs: performTimeoutMs,
    matches: true,
    body: putBody,
    answers: {
      200: answer({
        flow: z.string(),
        dryRun: z.boolean(),
        parts: z.array(z.strictObject({ ...part, before: offsetOrNull, after: offsetOrNull, fault: fault.nullable() })),
      }),
    },
    handle: putOffsets,
  }),
]

/** Null: this process reads none. */
export async function offsetsOf(ask: Ask, flow: string, doc: FlowDoc): Promise<readonly OffsetRow[] | null> {
  const { readOffsets } = ask.parts
  if (!readOffsets) return null
  const of = { kind: doc.kind, spec: specOf(ask, doc), overlay: overlayOf(doc) }
  return await soon(ask, offsetsReadMs, signal => readOffsets(flow, of, signal))
}

/** A checkpoint below the log's start has that much less before it. */
export function lagOf(checkpoint: bigint | null, logStart: bigint | null, end: bigint | null): bigint | null {
  if (checkpoint === null || end === null) return null
  const from = logStart !== null && logStart > checkpoint ? logStart : checkpoint
  return end > from ? end - from : 0n
}

function specOf(ask: Pick<Ask, 'parts'>, doc: FlowDoc): unknown {
  const { kinds } = ask.parts
  const entry = Object.hasOwn(kinds, doc.kind) ? kinds[doc.kind] : undefined
  if (entry) return entry.readSpec(doc.spec)
  throw refused('conflict', `this process knows no kind '${doc.kind.slice(0, 63)}'`, { status: 409 })
}

async function putOffsets(ask: Ask<unknown, PutBody>) {
  const { flow, tag, doc } = await flowOf(ask)
  checkMatch(ask.match, tag, `flow ${flow}`)
  const known = knownOf(ask)
  const { to, dryRun = false } = ask.body
  const parts = ask.body.parts as OffsetsRequest['parts']
  refuseUnpaused(doc, parts, flow)
  const held = await heldOf(ask, flow, (topic, n) => isIn(parts, topic, n))
  if (held.length > 0) {
    const named = held.slice(0, unitsShownMax).join(', ')
    throw conflict(`flow ${flow}: still run: ${named}`, 'they stop within seconds: pause with ?wait=10')
  }
  const request = { parts, to: typeof to === 'object' && 'offset' in to ? { offset: BigInt(to.offset) } : to, dryRun }
  const changes = await known.setOffsets(flow, request, ask.signal)
  ask.note({ before: tag, after: tag, changed: dryRun ? [] : ['offsets'] })
  const shown = changes.map(({ topic, partition, before, after, fault: why }) => {
    return { topic, partition, before, after, fault: why && { code: why.code, message: why.message, hint: why.hint } }
  })
  return { status: 200, tag, body: { flow, dryRun, parts: shown } }
}

/** Only what is paused has no owner that would write its own checkpoint over it (C-51). */
function refuseUnpaused(doc: FlowDoc, parts: OffsetsRequest['parts'], flow: string): void {
  const overlay = overlayOf(doc)
  if (overlay.paused === '*') return
  const running = parts === '*' ? ['*'] : [...parts].flatMap(([topic, of]) => unpausedOf(overlay, topic, of))
  if (running.length === 0) return
  const named = running.slice(0, unitsShownMax).join(', ')
  throw conflict(`flow ${flow}: not paused: ${named}`, 'pause them first, with ?wait=10')
}

function unpausedOf(overlay: ReturnType<typeof overlayOf>, topic: string, of: '*' | readonly number[]): string[] {
  if (of === '*') return overlay.paused !== '*' && overlay.paused.get(topic) === '*' ? [] : [topic]
  return of.filter(n => !isPaused(overlay, topic, n)).map(n => `${topic}/${n}`)
}

function isIn(parts: OffsetsRequest['parts'], topic: string, partition: number): boolean {
  if (parts === '*') return true
  const of = parts.get(topic)
  return of === '*' || (of?.includes(partition) ?? false)
}
