import { z } from 'zod'
import type { HeldError } from '../fleet/decide/documents/held.ts'
import { paths } from '../fleet/decide/documents/paths.ts'
import { nearest } from '../flow/nearest.ts'
import { unitName } from '../flow/unitName.ts'
import { shown } from './bodyFaults.ts'
import { changeOverlay } from './flowChange.ts'
import { etag } from './match.ts'
import { flowOf, notAlone, partitionIn, topicIn } from './named.ts'
import { errorOf } from './partitions.ts'
import { badBody, conflict, notFound } from './refusal.ts'
import { type Ask, type Route, route } from './route.ts'
import { changeWishes } from './wishChange.ts'
import { answer, idPattern, offset } from './words.ts'
import { fitOf } from './workerFit.ts'

const skipBody = z.strictObject({
  offset: offset.describe('the failing offset'),
  records: z.int().min(1).describe('how many records to leave out'),
})
const moveBody = z.strictObject({ to: z.string().min(1).nullable().describe('id of a worker; null: no wish any more') })
const part = { flow: z.string(), topic: z.string(), partition: z.int() }

export const partitionWishRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/v1/flows/{flow}/partitions/{topic}/{partition}/skip',
    role: 'operator',
    summary: 'Lets a partition in error pass over records, if they begin at its failing offset (M-94)',
    matches: true,
    body: skipBody,
    answers: {
      202: answer({
        ...part,
        etag: z.string(),
        unchanged: z.boolean(),
        failsAt: z.string().nullable().describe('as its worker reports it; null: it is not known to fail now'),
      }),
    },
    handle: skip,
  }),
  route({
    method: 'POST',
    path: '/v1/flows/{flow}/partitions/{topic}/{partition}/move',
    role: 'operator',
    summary: 'Moves a partition to a worker and keeps it there for a while (C-39); for lasting wishes use requires',
    matches: true,
    body: moveBody,
    answers: { 202: answer({ ...part, to: z.string().nullable(), unchanged: z.boolean() }) },
    handle: move,
  }),
]

async function skip(ask: Ask<unknown, z.infer<typeof skipBody>>) {
  const [topic, partition] = [topicIn(ask), partitionIn(ask)]
  const { flow } = await flowOf(ask)
  const error = await failing(ask, `${flow}/${unitName({ topic, partition })}`)
  const asked = BigInt(ask.body.offset)
  if (error?.offset != null && BigInt(error.offset) !== asked) {
    throw conflict(`${topic}/${partition} fails at offset ${error.offset}, not at ${asked}`, `skip ${error.offset}`)
  }
  const skips: readonly [string | number, number] = [
    asked > BigInt(Number.MAX_SAFE_INTEGER) ? String(asked) : Number(asked),
    ask.body.records,
  ]
  const changed = await changeOverlay(ask, overlay => {
    const of: ReadonlyMap<number, readonly [string | number, number]> = overlay.skips.get(topic) ?? new Map()
    if (String(of.get(partition)) === String(skips)) return null
    return { ...overlay, skips: new Map([...overlay.skips, [topic, new Map([...of, [partition, skips]])]]) }
  })
  const tag = changed.after?.tag ?? null
  const failsAt = error?.offset ?? null
  const body = { flow, topic, partition, etag: etag(tag), unchanged: changed.is === 'unchanged', failsAt }
  return { status: 202, body, ...(tag === null ? {} : { tag }) }
}

/** What its owner reports, by any controller; at most 50 errors of a worker are told, so none says nothing. */
async function failing(ask: Ask, unit: string): Promise<HeldError | null> {
  const known = ask.parts.known()
  const inKnown = known && errorOf(known, unit)
  if (inKnown) return inKnown
  for (const found of (await ask.seen.helds()).values()) {
    if (!('doc' in found) || found.doc.state === 'left') continue
    const error = found.doc.errors.find(one => one.unit === unit)
    if (error) return error
  }
  return null
}

async function move(ask: Ask<unknown, z.infer<typeof moveBody>>) {
  notAlone(ask, 'a partition cannot be moved')
  const [topic, partition] = [topicIn(ask), partitionIn(ask)]
  const { flow, doc } = await flowOf(ask)
  const { to } = ask.body
  if (to !== null) await refuseUnfit(ask, to, doc.spec)
  const unit = `${flow}/${unitName({ topic, partition })}`
  const known = ask.parts.known()
  if (known && known.unit(unit) === null) throw notFound(`flow ${flow} has no unit ${topic}/${partition} now`, null)
  const changed = await changeWishes(ask, wishes => {
    if ((wishes.moves.get(unit) ?? null) === to) return null
    const moves = new Map(wishes.moves)
    if (to === null) moves.delete(unit)
    else moves.set(unit, to)
    return { ...wishes, moves }
  })
  return { status: 202, body: { flow, topic, partition, to, unchanged: changed.is === 'unchanged' } }
}

async function refuseUnfit(ask: Ask, to: string, spec: unknown): Promise<void> {
  const workers = await ask.seen.workers()
  const found = idPattern.test(to) ? workers.get(to) : undefined
  const fault = (expected: string, hint: string | null) =>
    badBody([{ path: 'to', found: shown(to, []), expected, hint }])
  if (!found) {
    const near = nearest(to, await ask.seen.children(paths.workers))
    throw fault('the id of a worker that is there', near === null ? null : `did you mean ${near}?`)
  }
  if (!('doc' in found)) throw fault('a worker whose record can be read', found.fault.message)
  const unfit = fitOf(found.doc, { spec, drains: (await ask.seen.wishes()).doc.drains })
  if (unfit !== null) throw fault('a worker that may take it', unfit)
}
