import { z } from 'zod'
import { etag } from './match.ts'
import { knownOf, notAlone } from './named.ts'
import { type Ask, type Route, route } from './route.ts'
import { changeWishes } from './wishChange.ts'
import { answer, nothing } from './words.ts'

const autoBody = z.strictObject({ auto: z.boolean().describe('whether units are moved only to even out loads') })
const balancing = answer({ auto: z.boolean(), etag: z.string(), unchanged: z.boolean() })
const move = z.strictObject({
  unit: z.string(),
  from: z.string().nullable(),
  to: z.string().nullable(),
  weight: z.number().nullable(),
})

export const balancingRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/v1/balancing',
    role: 'viewer',
    summary: 'Whether units are moved to even out loads, and whether somebody has asked for it now',
    answers: {
      200: answer({ auto: z.boolean(), etag: z.string(), rebalance: z.int().describe('requests not answered yet') }),
    },
    async handle({ seen }) {
      const { tag, doc } = await seen.wishes()
      return { status: 200, tag, body: { auto: doc.auto, etag: etag(tag), rebalance: doc.rebalance } }
    },
  }),
  route({
    method: 'PUT',
    path: '/v1/balancing',
    role: 'operator',
    summary: 'auto: false: units are moved only where they must be (C-39)',
    matches: true,
    body: autoBody,
    answers: { 200: balancing },
    async handle(ask: Ask<unknown, z.infer<typeof autoBody>>) {
      notAlone(ask, 'there is no balance')
      const { auto } = ask.body
      const { after, is } = await changeWishes(ask, wishes => (wishes.auto === auto ? null : { ...wishes, auto }))
      const tag = after?.tag ?? null
      const body = { auto, etag: etag(tag), unchanged: is === 'unchanged' }
      // Nothing was written where nobody ever wished anything: that has a tag too.
      return { status: 200, body, ...(tag === null && is !== 'unchanged' ? {} : { tag }) }
    },
  }),
  route({
    method: 'POST',
    path: '/v1/rebalance',
    role: 'operator',
    summary: 'Evens out loads once, also where auto is off',
    body: nothing.optional(),
    answers: { 202: answer({ rebalance: z.int().describe('requests not answered yet') }) },
    async handle(ask) {
      notAlone(ask, 'there is nothing to even out')
      const { after } = await changeWishes(ask, wishes => ({ ...wishes, rebalance: wishes.rebalance + 1 }))
      return { status: 202, body: { rebalance: after?.doc.rebalance ?? 0 } }
    },
  }),
  route({
    method: 'GET',
    path: '/v1/plan',
    role: 'viewer',
    summary: 'What the next round would do now, with reasons; it does nothing',
    leader: 'need',
    answers: {
      200: answer({
        give: z.array(move),
        withdraw: z.array(move),
        unplaced: z.array(z.strictObject({ unit: z.string(), why: z.string() })),
        why: z.string().describe('off: balancing is off; not-due: it is on, and loads are looked at again within 10 s'),
        more: z.boolean(),
        loads: z.array(z.strictObject({ worker: z.string(), load: z.number() })),
      }),
    },
    async handle(ask) {
      notAlone(ask, 'there is no plan')
      const { give, withdraw, unplaced, why, more, loads, weights } = knownOf(ask).plan()
      const { auto } = (await ask.seen.standingWishes()).doc
      const weightOf = (unit: string) => weights?.get(unit) ?? null
      return {
        status: 200,
        body: {
          give: give.map(({ id, to }) => ({ unit: id, from: null, to, weight: weightOf(id) })),
          withdraw: withdraw.map(({ id, from, to }) => ({ unit: id, from, to, weight: weightOf(id) })),
          unplaced: unplaced.map(one => ({ unit: one.id, why: one.why })),
          // To the planner both are one (C-55).
          why: why === 'off' && auto ? 'not-due' : why,
          more,
          loads: [...loads].map(([worker, load]) => ({ worker, load })),
        },
      }
    },
  }),
]
