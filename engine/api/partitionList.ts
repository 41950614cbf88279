import { z } from 'zod'
import { MillraceError } from '../errors.ts'
import type { FlowDoc } from '../fleet/decide/documents/flow.ts'
import type { HeldDoc, HeldError } from '../fleet/decide/documents/held.ts'
import { paths } from '../fleet/decide/documents/paths.ts'
import { readStats, type UnitStats } from '../fleet/decide/documents/stats.ts'
import { nearest } from '../flow/nearest.ts'
import type { FlowReport } from '../flow/report.ts'
import { partitionStates } from '../flow/states.ts'
import { partOf, unitName } from '../flow/unitName.ts'
import { flowOf } from './named.ts'
import { stateOf } from './partitions.ts'
import type { Known, KnownUnit } from './parts.ts'
import { notFound } from './refusal.ts'
import { type Ask, type Route, route } from './route.ts'
import { answer, topicName } from './words.ts'

const row = z.strictObject({
  topic: z.string(),
  partition: z.int(),
  state: z.enum(partitionStates),
  reason: z.string().nullable(),
  code: z.string().nullable().describe('of the error that it waits with'),
  offset: z.string().nullable().describe('where it failed'),
  worker: z.string().nullable(),
  lagRecords: z.int().nullable().describe('as its worker has measured it last'),
  bytesPerSecond: z.number().nullable(),
})
type Query = { topic?: string | undefined }

export const partitionListRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/v1/flows/{flow}/partitions',
    role: 'viewer',
    summary: 'Of each partition who has it, its state, lag and rate, as workers report them; no broker is asked',
    leader: 'prefer',
    query: z.strictObject({ topic: topicName.optional() }),
    answers: { 200: answer({ flow: z.string(), partitions: z.array(row) }) },
    handle: listPartitions,
  }),
]

/** What is known of a flow's units, by their names in the flow. */
type Standing = {
  units: ReadonlyMap<string, Pick<KnownUnit, 'owner' | 'why'>>
  errors: ReadonlyMap<string, HeldError>
  stats: ReadonlyMap<string, UnitStats>
  /** Workers that are not heard. */
  silent: ReadonlySet<string>
}

async function listPartitions(ask: Ask<Query>) {
  const { flow, doc } = await flowOf(ask)
  const { topic: asked } = ask.query
  const known = ask.parts.known()
  const standing = await standingOf(ask, known, flow)
  const topics = known?.flows().get(flow)?.report()?.topics ?? []
  const places = placesOf(topics, standing.units.keys()).filter(one => asked === undefined || one.topic === asked)
  // Without a leader nobody knows what it has besides.
  if (known !== null && asked !== undefined && places.length === 0 && !doc.overlay.topics.has(asked)) {
    const names = new Set([
      ...topics.map(one => one.topic),
      ...[...standing.units.keys()].map(one => partOf(one).topic),
    ])
    throw notFound(`flow ${flow} has no topic '${asked}'`, nearest(asked, names))
  }
  const refused = new Set(topics.filter(one => one.state === 'refused').map(one => one.topic))
  return { status: 200, body: { flow, partitions: places.map(place => rowOf(place, doc, { standing, refused })) } }
}

type Place = { topic: string; partition: number }

/** Those that are planned, and those that somebody may still act on. */
function placesOf(topics: FlowReport['topics'], units: Iterable<string>): Place[] {
  const places = new Map<string, Place>()
  for (const { topic, partitions } of topics) {
    for (let partition = 0; partition < partitions; partition++) {
      const place = { topic, partition }
      places.set(unitName(place), place)
    }
  }
  for (const unit of units) places.set(unit, partOf(unit))
  return [...places.values()].sort((a, b) =>
    a.topic === b.topic ? a.partition - b.partition : a.topic < b.topic ? -1 : 1,
  )
}

function rowOf(place: Place, doc: FlowDoc, of: { standing: Standing; refused: ReadonlySet<string> }) {
  const name = unitName(place)
  const { units, errors, stats, silent } = of.standing
  const [unit, error, measured] = [units.get(name) ?? null, errors.get(name) ?? null, stats.get(name) ?? null]
  const isSilent = unit?.owner != null && silent.has(unit.owner)
  return {
    ...place,
    ...stateOf(doc, { ...place, unit, stats: measured, error, isRefused: of.refused.has(place.topic), isSilent }),
    code: error?.code ?? null,
    offset: error?.offset ?? null,
    worker: unit?.owner ?? null,
    lagRecords: measured?.lagRecords ?? null,
    bytesPerSecond: measured?.bytesPerSecond ?? null,
  }
}

/** Of the leader; without one the reports say who holds what, and nobody says what is still to be placed. */
async function standingOf(ask: Pick<Ask, 'seen'>, known: Known | null, flow: string): Promise<Standing> {
  if (known === null) return await reported(ask, flow)
  const units = known.units(flow)
  const owners = new Set([...units.values()].map(unit => unit.owner).filter(owner => owner !== null))
  const stats = known.stats?.(flow) ?? (await statsOf(ask, owners, flow))
  const silent = new Set([...known.workers()].flatMap(([id, one]) => (one.silent ? [id] : [])))
  return { units, errors: errorsIn(known.workers().values(), flow), stats, silent }
}

async function reported(ask: Pick<Ask, 'seen'>, flow: string): Promise<Standing> {
  const units = new Map<string, Pick<KnownUnit, 'owner' | 'why'>>()
  const helds: HeldDoc[] = []
  const owners = new Set<string>()
  for (const [owner, found] of await ask.seen.helds()) {
    if (!('doc' in found) || found.doc.state === 'left') continue
    helds.push(found.doc)
    for (const [part, numbers] of found.doc.units.get(flow) ?? []) {
      owners.add(owner)
      for (const n of numbers) units.set(`${part}/${n}`, { owner, why: null })
    }
  }
  return { units, errors: errorsIn(helds, flow), stats: await statsOf(ask, owners, flow), silent: new Set() }
}

function errorsIn(of: Iterable<{ errors: readonly HeldError[] }>, flow: string): Map<string, HeldError> {
  const errors = new Map<string, HeldError>()
  for (const one of of)
    for (const error of one.errors)
      if (error.unit.startsWith(`${flow}/`)) errors.set(error.unit.slice(flow.length + 1), error)
  return errors
}

/** What one worker has measured and cannot be read hides nothing of the others. */
async function statsOf(
  ask: Pick<Ask, 'seen'>,
  owners: Iterable<string>,
  flow: string,
): Promise<Map<string, UnitStats>> {
  const stats = new Map<string, UnitStats>()
  const read = async (owner: string) => {
    const path = paths.stats(owner)
    const node = await ask.seen.read(path)
    try {
      for (const [unit, one] of node ? readStats(node.data, path).of : [])
        if (unit.startsWith(`${flow}/`)) stats.set(unit.slice(flow.length + 1), one)
    } catch (error) {
      if (!(error instanceof MillraceError) || !error.code.startsWith('state-')) throw error
    }
  }
  await Promise.all([...owners].map(read))
  return stats
}
