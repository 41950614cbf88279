import { z } from 'zod'
import { encodeRanges } from '../fleet/decide/ranges.ts'
import type { TopicReport } from '../flow/report.ts'
import { neverSelected } from '../flow/select.ts'
import { partitionStates } from '../flow/states.ts'
import { changeOverlay } from './flowChange.ts'
import { etag } from './match.ts'
import { flowOf, param, topicIn } from './named.ts'
import { badBody, notAmong } from './refusal.ts'
import { type Ask, type Route, route } from './route.ts'
import { answer, isTopic, nothing } from './words.ts'

/** The compiler holds it to what is reported. */
export const topicReport = z.strictObject({
  topic: z.string(),
  destination: z.string(),
  partitions: z.int(),
  records: z.int().nullable(),
  bytes: z.int().nullable(),
  lagRecords: z.int().nullable(),
  gapRecords: z.int().nullable(),
  skippedRecords: z.int().nullable(),
  state: z.enum(partitionStates),
}) satisfies z.ZodType<TopicReport>

const topicShape = {
  topic: z.string(),
  overlay: z.enum(['in', 'out']).nullable().describe('what people said of it, before what the spec selects'),
  paused: z.string().nullable().describe('what of it somebody paused: "*", or partitions such as "0-3,7"'),
  report: topicReport.nullable().describe('null: the flow has no such topic now, or nobody leads'),
}
const putBody = z.strictObject({
  overlay: z.enum(['in', 'out']).nullable().optional().describe('null: what people said of it is forgotten'),
})
const written = answer({
  flow: z.string(),
  topic: z.string(),
  overlay: z.enum(['in', 'out']).nullable(),
  etag: z.string(),
  unchanged: z.boolean(),
})

export const topicRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/v1/flows/{flow}/topics',
    role: 'viewer',
    summary: 'Topics of a flow: those put in or out by hand, and those that it copies',
    leader: 'prefer',
    answers: { 200: answer({ flow: z.string(), etag: z.string(), topics: z.array(z.strictObject(topicShape)) }) },
    async handle(ask) {
      const { flow, tag, topics } = await topicsOf(ask)
      return { status: 200, tag, body: { flow, etag: etag(tag), topics: [...topics.values()] } }
    },
  }),
  route({
    method: 'GET',
    path: '/v1/flows/{flow}/topics/{topic}',
    role: 'viewer',
    summary: 'One topic of a flow',
    leader: 'prefer',
    answers: { 200: answer({ flow: z.string(), etag: z.string(), ...topicShape }) },
    async handle(ask) {
      const topic = topicIn(ask)
      const { flow, tag, topics } = await topicsOf(ask)
      const found = topics.get(topic)
      if (!found) throw notAmong(`flow ${flow} has no topic '${topic}'`, topic, topics.keys())
      return { status: 200, tag, body: { flow, etag: etag(tag), ...found } }
    },
  }),
  route({
    method: 'PUT',
    path: '/v1/flows/{flow}/topics/{topic}',
    role: 'operator',
    summary: 'Puts a topic into a flow, whatever its spec selects (M-13); one that is not there yet is waited for',
    matches: true,
    body: putBody.optional(),
    answers: { 200: written, 201: written },
    handle: (ask: Ask<unknown, z.infer<typeof putBody> | undefined>) =>
      put(ask, ask.body?.overlay === undefined ? 'in' : ask.body.overlay),
  }),
  route({
    method: 'DELETE',
    path: '/v1/flows/{flow}/topics/{topic}',
    role: 'operator',
    summary: 'Takes a topic out of a flow, whatever its spec selects (M-13)',
    matches: true,
    body: nothing.optional(),
    answers: { 200: written },
    handle: ask => put(ask, 'out'),
  }),
]

type Shown = { topic: string; overlay: 'in' | 'out' | null; paused: string | null; report: TopicReport | null }

async function topicsOf(ask: Ask): Promise<{ flow: string; tag: string; topics: ReadonlyMap<string, Shown> }> {
  const { flow, tag, doc } = await flowOf(ask)
  const topics = new Map<string, Shown>()
  for (const report of ask.parts.known()?.flows().get(flow)?.report()?.topics ?? []) {
    topics.set(report.topic, { topic: report.topic, overlay: null, paused: null, report })
  }
  const known = (topic: string) => topics.get(topic) ?? { topic, overlay: null, paused: null, report: null }
  for (const [topic, overlay] of doc.overlay.topics) topics.set(topic, { ...known(topic), overlay })
  const { paused } = doc.overlay
  for (const [topic, of] of paused === '*' ? [] : paused) {
    topics.set(topic, { ...known(topic), paused: of === '*' ? '*' : encodeRanges(of) })
  }
  return { flow, tag, topics: new Map([...topics].sort(([a], [b]) => (a < b ? -1 : 1))) }
}

/** `to` null: its spec decides again. */
async function put(ask: Ask, to: 'in' | 'out' | null) {
  const topic = param(ask, 'topic')
  const found = `'${topic.slice(0, 80)}'`
  if (!isTopic(topic)) {
    throw badBody([{ path: 'topic', found, expected: '1 to 249 of A-Z a-z 0-9 . _ -', hint: null }], 'the name')
  }
  if (to === 'in' && neverSelected(topic)) {
    const hint = 'it is reserved, also when named (M-11)'
    throw badBody([{ path: 'topic', found, expected: 'a topic that may be copied', hint }], 'the name')
  }
  const { flow, before, after, is } = await changeOverlay(ask, overlay => {
    if ((overlay.topics.get(topic) ?? null) === to) return null
    const others = [...overlay.topics].filter(([one]) => one !== topic)
    return { ...overlay, topics: new Map(to === null ? others : [...others, [topic, to] as const]) }
  })
  const isNew = to === 'in' && before?.doc.overlay.topics.get(topic) !== 'in'
  const tag = after?.tag ?? null
  return {
    status: isNew ? 201 : 200,
    body: { flow, topic, overlay: to, etag: etag(tag), unchanged: is === 'unchanged' },
    ...(tag === null ? {} : { tag }),
  }
}
