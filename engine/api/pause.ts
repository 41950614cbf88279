import { z } from 'zod'
import { apiWaitMaxSeconds } from '../limits.ts'
import { changeOverlay } from './flowChange.ts'
import { overlayOut } from './flowView.ts'
import { heldOf, untilFree } from './heldUnits.ts'
import { etag } from './match.ts'
import { isMeant, type Meant, meansAll, pausedWith, pausedWithout } from './pauseOf.ts'
import { type Ask, type Route, route } from './route.ts'
import { answer, byTopic, ranges, topicName } from './words.ts'

const body = z
  .strictObject({
    topics: z.array(topicName).min(1).optional(),
    partitions: byTopic(ranges)
      .refine(map => map.size > 0, { params: { expected: 'at least one topic' } })
      .optional(),
  })
  .optional()
type Body = z.infer<typeof body>

const seconds = z
  .string()
  .regex(/^\d{1,3}$/)
  .refine(text => Number(text) <= apiWaitMaxSeconds, { params: { expected: `seconds, at most ${apiWaitMaxSeconds}` } })
const waitQuery = z.strictObject({ wait: seconds.optional() })

const paused = answer({
  flow: z.string(),
  etag: z.string(),
  unchanged: z.boolean(),
  paused: z.record(z.string(), z.string()),
  held: z.int().describe('units of it that still run'),
})

export const pauseRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/v1/flows/{flow}/pause',
    role: 'operator',
    summary: 'Pauses all of a flow, some topics or some partitions; ?wait=10 answers when none of it runs',
    matches: true,
    query: waitQuery,
    body,
    answers: { 202: paused },
    handle: pauseFlow,
  }),
  route({
    method: 'POST',
    path: '/v1/flows/{flow}/resume',
    role: 'operator',
    summary: 'Resumes what is paused; what is in error or in back-off tries again at once',
    matches: true,
    body,
    answers: { 202: paused },
    handle: resumeFlow,
  }),
]

async function pauseFlow(ask: Ask<z.infer<typeof waitQuery>, Body>) {
  const meant = meantBy(ask.body)
  const changed = await changeOverlay(ask, overlay => {
    const after = pausedWith(overlay.paused, meant)
    return after && { ...overlay, paused: after }
  })
  const held = () => heldOf(ask, changed.flow, (topic, n) => isMeant(meant, topic, n))
  return shown(changed, await untilFree(ask, Number(ask.query.wait ?? 0) * 1_000, held))
}

/** Always a new tag: it is what tells units in error to try again (C-38). */
async function resumeFlow(ask: Ask<unknown, Body>) {
  const meant = meantBy(ask.body)
  const changed = await changeOverlay(ask, overlay => ({ ...overlay, paused: pausedWithout(overlay.paused, meant) }))
  const held = await heldOf(ask, changed.flow, (topic, n) => isMeant(meant, topic, n))
  return shown(changed, held.length)
}

function meantBy(given: Body): Meant {
  if (meansAll(given)) return null
  return { topics: new Set(given?.topics), partitions: given?.partitions ?? new Map() }
}

function shown({ flow, after, is }: Awaited<ReturnType<typeof changeOverlay>>, held: number) {
  const tag = after?.tag ?? null
  const paused = after ? overlayOut(after.doc.overlay)['paused'] : {}
  return {
    status: 202,
    body: { flow, etag: etag(tag), unchanged: is === 'unchanged', paused, held },
    ...(tag === null ? {} : { tag }),
  }
}
