import { z } from 'zod'
import type { FlowOverlay } from '../fleet/decide/documents/flow.ts'
import { nearest } from '../flow/nearest.ts'
import { faultOfSpec, fractionsIn, orList, shown } from './bodyFaults.ts'
import { pathText } from './bodyPaths.ts'
import type { ApiKinds, ApiParts, BodyFault } from './parts.ts'
import { badBody } from './refusal.ts'
import { allOrRanges, byName, byTopic } from './words.ts'

const pausedBody = byName(allOrRanges, { name: /^(\*|[A-Za-z0-9._-]{1,249})$/, expected: '"*" or the name of a topic' })
  .check(payload => {
    if (!payload.value.has('*') || (payload.value.size === 1 && payload.value.get('*') === '*')) return
    const expected = 'alone, as {"*": "*"}: all of the flow'
    payload.issues.push({ code: 'custom', input: payload.value, path: ['*'], params: { expected }, continue: true })
  })
  .meta({ description: '{"*": "*"} all, {topic: "*"} a topic, {topic: "0-3"} partitions' })

export const skipBody = z.tuple([
  z.union([z.int().min(0), z.string().regex(/^(0|[1-9]\d{0,18})$/)]).describe('the failing offset'),
  z.int().min(1).describe('how many records'),
])

const overlayBody = z.strictObject({
  topics: byTopic(z.enum(['in', 'out'])).optional(),
  paused: pausedBody.optional(),
  skips: byTopic(byName(skipBody, { name: /^(0|[1-9]\d{0,8})$/, expected: 'the number of a partition' })).optional(),
})

/** `{kind, spec, overlay?}` (C-102). */
export const flowBody = z.strictObject({
  kind: z.string().min(1).max(63),
  spec: z
    .custom<Record<string, unknown>>(given => typeof given === 'object' && given !== null && !Array.isArray(given), {
      params: { expected: 'an object' },
    })
    .meta({ type: 'object', description: 'as in the file of flows, without kind, paused and skips' }),
  overlay: overlayBody.optional().describe('left out: as it is'),
})
export type FlowBody = z.infer<typeof flowBody>

export const previewBody = flowBody.omit({ overlay: true })

/** The kind and the spec as it reads it; throws 422 with everything that is wrong with them. */
export function readFlowBody(
  body: Pick<FlowBody, 'kind' | 'spec'>,
  parts: ApiParts,
): { entry: ApiKinds[string]; spec: unknown } {
  const entry = Object.hasOwn(parts.kinds, body.kind) ? parts.kinds[body.kind] : undefined
  if (entry === undefined) {
    const known = Object.keys(parts.kinds)
    const near = nearest(body.kind, known)
    const hint = near === null ? null : `did you mean ${near}?`
    throw badBody([{ path: 'kind', found: shown(body.kind, []), expected: orList(known), hint }])
  }
  const faults: BodyFault[] = fractionsIn(body.spec, ['spec'])
  for (const fault of parts.specFaults?.(body.kind, body.spec) ?? []) {
    faults.push({ ...fault, path: within('spec', fault.path) })
  }
  if (faults.length > 0) throw badBody(faults)
  try {
    return { entry, spec: entry.readSpec(body.spec) }
  } catch (error) {
    throw badBody([faultOfSpec(error)])
  }
}

function within(outer: string, inner: string): string {
  if (inner === '') return pathText([outer])
  return inner.startsWith('[') ? `${outer}${inner}` : `${outer}.${inner}`
}

/** What is left out of an overlay that is given is empty: it takes the place of the one that was. */
export function overlayFrom(given: NonNullable<FlowBody['overlay']>): FlowOverlay {
  const { topics = new Map(), paused = new Map(), skips = new Map() } = given
  return {
    topics,
    paused: paused.has('*') ? '*' : paused,
    skips: new Map(
      [...skips].map(([topic, of]) => [topic, new Map([...of].map(([n, skip]) => [Number(n), skip] as const))]),
    ),
  }
}
