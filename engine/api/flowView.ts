import { z } from 'zod'
import { hasLeft } from '../fleet/decide/declared.ts'
import type { FlowDoc, FlowOverlay } from '../fleet/decide/documents/flow.ts'
import { encodeRanges } from '../fleet/decide/ranges.ts'
import { unitsShownMax } from '../limits.ts'
import { etag } from './match.ts'
import type { ApiParts, KnownFlow } from './parts.ts'
import { fault } from './words.ts'

/** How many units of a flow are where (C-102); null: only the leader knows, and nobody leads. */
const countsShape = {
  wanted: z.int().nullable(),
  assigned: z.int().nullable(),
  held: z.int().nullable().describe('by workers that beat'),
  silent: z.int().nullable().describe('held by workers whose beats are missing: it may not run'),
  inError: z.int().nullable().describe('units in error, of each worker the first 50; null: not known'),
  inTransit: z.int().nullable(),
  unplacedCount: z.int().nullable(),
  unplaced: z.array(z.strictObject({ unit: z.string(), why: z.string() })),
  oldestUnheldMs: z.int().nullable(),
  fault: fault.nullable(),
  nextTryMs: z.int().nullable(),
  warnings: z.array(fault).describe('what it does as it was told to, and somebody should know'),
}

export const summaryShape = {
  flow: z.string(),
  etag: z.string(),
  kind: z.string(),
  origin: z.string(),
  changedBy: z.strictObject({ atMs: z.int(), by: z.string() }),
  deleting: z.boolean(),
  hasLeftFile: z.boolean().describe('it was declared by the file, which does not have it any more: it may be deleted'),
  paused: z.enum(['all', 'some', 'none']),
  ...countsShape,
}

export const overlayAnswer = z.strictObject({
  topics: z.record(z.string(), z.enum(['in', 'out'])),
  paused: z.record(z.string(), z.string()),
  skips: z.record(z.string(), z.record(z.string(), z.tuple([z.union([z.int(), z.string()]), z.int()]))),
})

export function summaryOf(flow: string, of: { tag: string; doc: FlowDoc }, parts: ApiParts): Record<string, unknown> {
  const { kind, origin, changedBy, deleting, overlay } = of.doc
  return {
    flow,
    etag: etag(of.tag),
    kind,
    origin,
    changedBy,
    deleting,
    hasLeftFile: hasLeft(of.doc),
    paused: overlay.paused === '*' ? 'all' : overlay.paused.size > 0 ? 'some' : 'none',
    ...countsOf(parts.known()?.flows().get(flow) ?? null, parts),
  }
}

export function countsOf(known: KnownFlow | null, { clock }: ApiParts): Record<string, unknown> {
  const nowMs = clock.nowMs()
  const { oldestUnheldMs = null, nextTryMs = null } = known ?? {}
  return {
    wanted: known?.wanted ?? null,
    assigned: known?.assigned ?? null,
    held: known?.held ?? null,
    silent: known ? (known.silent ?? 0) : null,
    inError: known?.inError ?? null,
    inTransit: known?.inTransit ?? null,
    unplacedCount: known?.unplaced.length ?? null,
    unplaced: known?.unplaced.slice(0, unitsShownMax).map(({ unit, why }) => ({ unit, why })) ?? [],
    oldestUnheldMs: oldestUnheldMs === null ? null : Math.max(0, Math.round(nowMs - oldestUnheldMs)),
    fault: known?.fault ?? null,
    nextTryMs: nextTryMs === null ? null : Math.max(0, Math.round(nextTryMs - nowMs)),
    warnings: known?.warnings ?? [],
  }
}

/** As it is written, and as a PUT takes it (C-38). */
export function overlayOut({ topics, paused, skips }: FlowOverlay): Record<string, unknown> {
  return {
    topics,
    paused:
      paused === '*'
        ? { '*': '*' }
        : new Map([...paused].map(([topic, of]) => [topic, of === '*' ? '*' : encodeRanges(of)])),
    skips: new Map([...skips].map(([topic, of]) => [topic, new Map([...of].map(([n, skip]) => [String(n), skip]))])),
  }
}
