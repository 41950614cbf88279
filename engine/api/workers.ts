import { z } from 'zod'
import { readAssignment } from '../fleet/decide/documents/assignment.ts'
import type { HeldDoc } from '../fleet/decide/documents/held.ts'
import { paths } from '../fleet/decide/documents/paths.ts'
import { drainReasons, type WishesDoc } from '../fleet/decide/documents/wishes.ts'
import { namesOf } from '../fleet/decide/units.ts'
import { unitsShownMax } from '../limits.ts'
import { notAlone, param, workerIn } from './named.ts'
import type { KnownWorker } from './parts.ts'
import { notAmong } from './refusal.ts'
import { type Ask, type Route, route } from './route.ts'
import { type Found, wholeOf } from './seen.ts'
import { changeWishes } from './wishChange.ts'
import { answer, fault, idPattern, nothing } from './words.ts'
import { fitOf } from './workerFit.ts'

const generation = z.strictObject({ epoch: z.int(), generation: z.int() }).nullable()
const drain = z.strictObject({ atMs: z.int(), by: z.string(), reason: z.enum(drainReasons) }).nullable()
const error = z.strictObject({ unit: z.string(), code: z.string(), sinceMs: z.int(), offset: z.string().nullable() })

const workerShape = {
  id: z.string(),
  record: z
    .strictObject({
      address: z.string().nullable(),
      capacity: z.int(),
      leaseMs: z.int(),
      revision: z.string(),
      software: z.string(),
      startedAtMs: z.int(),
      state: z.enum(['ready', 'stopping']),
      tags: z.array(z.string()),
      task: z.string(),
      unitsMax: z.int(),
    })
    .nullable()
    .describe('what it says of itself; null: it is not there, or it cannot be read'),
  unreadable: fault.nullable(),
  state: z.string().nullable().describe('as the leader plans with it (C-52); null: nobody leads'),
  silent: z
    .boolean()
    .nullable()
    .describe('more than two beats are missing: what it holds may not run, and nobody else may have it yet'),
  heldState: z.string().nullable(),
  beatAgeMs: z.int().nullable(),
  wanted: generation,
  applied: generation,
  units: z.int().nullable().describe('assigned to it'),
  held: z.int().describe('what it may act on'),
  load: z.number().nullable(),
  share: z.number().nullable(),
  drain,
  released: z.boolean().nullable().describe('drained, and nothing is left on it (C-61)'),
  quarantineMs: z.int().nullable(),
  errors: z.array(error),
}
const drained = answer({
  id: z.string(),
  drain,
  unchanged: z.boolean(),
  blockedCount: z.int(),
  blocked: z.array(z.string()).describe('units that no other worker may take: it keeps them'),
})

export const workerRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/v1/workers',
    role: 'viewer',
    summary: 'All workers: what they say, what they hold, and what the leader makes of it',
    leader: 'prefer',
    answers: { 200: answer({ workers: z.array(z.strictObject(workerShape)) }) },
    async handle(ask) {
      return { status: 200, body: { workers: [...(await viewsOf(ask)).values()] } }
    },
  }),
  route({
    method: 'GET',
    path: '/v1/workers/{id}',
    role: 'viewer',
    summary: 'One worker',
    leader: 'prefer',
    answers: {
      200: answer({ ...workerShape, holds: z.array(z.string()).describe('what it may act on: the first 100 units') }),
    },
    async handle(ask) {
      const id = param(ask, 'id')
      const views = await viewsOf(ask)
      const found = views.get(id)
      if (!found) throw notAmong(`there is no worker '${id.slice(0, 80)}'`, id, views.keys())
      return { status: 200, body: { ...found, holds: await holdsOf(ask, id) } }
    },
  }),
  route({
    method: 'POST',
    path: '/v1/workers/{id}/drain',
    role: 'operator',
    summary: 'Moves all units of a worker to others, and gives it none (C-61)',
    matches: true,
    body: nothing.optional(),
    answers: { 200: drained, 202: drained },
    handle: drainWorker,
  }),
  route({
    method: 'POST',
    path: '/v1/workers/{id}/undrain',
    role: 'operator',
    summary: 'Takes a drain back; what has moved stays where it is',
    matches: true,
    body: nothing.optional(),
    answers: { 200: drained, 202: drained },
    handle: undrainWorker,
  }),
]

/** In one process there are none in the documents: those that are known are all. */
async function viewsOf({ parts, seen }: Ask): Promise<ReadonlyMap<string, Record<string, unknown>>> {
  const [docs, helds, wishes] = await Promise.all([seen.workers(), seen.helds(), seen.standingWishes()])
  const known = parts.known()?.workers() ?? new Map<string, KnownWorker>()
  const nowMs = parts.clock.nowMs()
  const ids = [...new Set([...docs.keys(), ...known.keys()])].sort()
  return new Map(
    ids.map(id => {
      const [doc, of] = [docs.get(id), known.get(id)]
      const record = doc && 'doc' in doc ? doc.doc : (of?.doc ?? null)
      const until = of?.quarantinedUntilMs ?? null
      const view = {
        id,
        record: record && recordOf(record),
        unreadable: doc && 'fault' in doc ? doc.fault : null,
        state: of?.state ?? null,
        silent: of ? (of.silent ?? false) : null,
        beatAgeMs: of ? Math.max(0, Math.round(of.beatAgeMs)) : null,
        wanted: generationOf(of?.wanted),
        units: of?.units ?? null,
        load: of?.load ?? null,
        share: of?.share ?? null,
        drain: wishes.doc.drains.get(id) ?? null,
        released: of?.released ?? null,
        quarantineMs: until === null ? null : Math.max(0, Math.round(until - nowMs)),
        ...heldViewOf(helds.get(id), of),
      }
      return [id, view]
    }),
  )
}

/** By its own report; in one process by what runs there. */
async function holdsOf({ parts, seen }: Ask, id: string): Promise<string[]> {
  const known = parts.known()
  if (known?.running) {
    const running = [...known.flows().keys()].flatMap(flow =>
      [...(known.running?.(flow) ?? [])].map(unit => `${flow}/${unit}`),
    )
    return running.slice(0, unitsShownMax)
  }
  const held = (await seen.helds()).get(id)
  if (!held || !('doc' in held) || held.doc.state === 'left') return []
  return namesOf(held.doc.units).slice(0, unitsShownMax)
}

function recordOf({ id: _id, ...record }: KnownWorker['doc']): Record<string, unknown> {
  return record
}

function heldViewOf(found: Found<HeldDoc> | undefined, of: KnownWorker | undefined): Record<string, unknown> {
  if (of) {
    const { heldState, held, errors, applied } = of
    return { heldState, held, errors: errors.map(errorView), applied: generationOf(applied) }
  }
  if (!found || !('doc' in found)) return { heldState: null, held: 0, errors: [], applied: null }
  const { state, units, errors } = found.doc
  const count = [...units.values()].flatMap(parts => [...parts.values()]).reduce((sum, of) => sum + of.length, 0)
  return { heldState: state, held: count, errors: errors.map(errorView), applied: generationOf(found.doc) }
}

function errorView({ unit, code, sinceMs, offset }: HeldDoc['errors'][number]) {
  return { unit, code, sinceMs, offset }
}

function generationOf(of: { epoch: number; generation: number } | null | undefined) {
  return of ? { epoch: of.epoch, generation: of.generation } : null
}

async function drainWorker(ask: Ask) {
  notAlone(ask, 'a worker cannot be drained')
  const id = await workerIn(ask)
  const entry = { atMs: ask.parts.clock.wallMs(), by: `api:${ask.who.name}`, reason: 'api' as const }
  const { is, after } = await changeWishes(ask, wishes =>
    wishes.drains.has(id) ? null : { ...wishes, drains: new Map([...wishes.drains, [id, entry]]) },
  )
  const shown = after?.doc.drains.get(id) ?? null
  return answerOf(id, { is, drain: shown, blocked: after ? await blockedOf(ask, id, after.doc.drains) : [] })
}

/** Also of one that has gone: the wish would wait for nobody. */
async function undrainWorker(ask: Ask) {
  notAlone(ask, 'a worker is not drained')
  const id = param(ask, 'id')
  const { drains } = (await ask.seen.wishes()).doc
  if (!idPattern.test(id) || !drains.has(id)) await workerIn(ask)
  const { is } = await changeWishes(ask, wishes => {
    if (!wishes.drains.has(id)) return null
    return { ...wishes, drains: new Map([...wishes.drains].filter(([one]) => one !== id)) }
  })
  return answerOf(id, { is, drain: null, blocked: [] })
}

function answerOf(id: string, of: { is: string; drain: unknown; blocked: readonly string[] }) {
  const isSame = of.is === 'unchanged'
  const blocked = of.blocked.slice(0, unitsShownMax)
  return {
    status: isSame ? 200 : 202,
    body: { id, drain: of.drain, unchanged: isSame, blockedCount: of.blocked.length, blocked },
  }
}

/** Units of a drained worker that no other may take, as far as the documents tell (C-61). */
async function blockedOf(ask: Ask, id: string, drains: WishesDoc['drains']): Promise<string[]> {
  const path = paths.assignment(id)
  const doc = await wholeOf(ask.seen, path, { text: null, parse: readAssignment })
  if (doc === null) return []
  const [workers, flows] = await Promise.all([ask.seen.workers(), ask.seen.flows()])
  const others = [...workers].flatMap(([one, found]) => (one !== id && 'doc' in found ? [found.doc] : []))
  const stuck = [...doc.units].filter(([flow]) => {
    const found = flows.get(flow)
    const spec = found && 'doc' in found ? found.doc.spec : {}
    return !others.some(worker => fitOf(worker, { spec, drains }) === null)
  })
  return namesOf(new Map(stuck))
}
