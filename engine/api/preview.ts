import { z } from 'zod'
import { faultOf, MillraceError } from '../errors.ts'
import { overlayOf } from '../fleet/decide/documents/flow.ts'
import { paths } from '../fleet/decide/documents/paths.ts'
import { noOverlay } from '../flow/overlay.ts'
import { previewMs } from '../limits.ts'
import { previewBody, readFlowBody } from './flowBody.ts'
import { flowOf, noFlow, param } from './named.ts'
import type { Preview, PreviewAsked } from './parts.ts'
import { type Ask, type Route, route } from './route.ts'
import { soon } from './soon.ts'
import { answer, fault, flowPattern } from './words.ts'

const warning = z.strictObject({ code: z.string(), message: z.string(), hint: z.string().nullable() })

export const previewRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/v1/flows/{flow}/preview',
    role: 'operator',
    summary: 'What a spec, or without a body that of the flow, would select now (M-13); it changes nothing',
    body: previewBody.optional(),
    answers: {
      200: answer({
        flow: z.string(),
        units: z.int().nullable(),
        topics: z.array(
          z.strictObject({
            topic: z.string(),
            selected: z.boolean(),
            rule: z.string(),
            destination: z.string().nullable(),
            partitions: z.int(),
            there: z.int().nullable().describe('partitions at the destination; null: no such topic'),
            fault: fault.nullable(),
          }),
        ),
        warnings: z.array(warning),
      }),
    },
    async handle(ask: Ask<unknown, z.infer<typeof previewBody> | undefined>) {
      const flow = param(ask, 'flow')
      if (!flowPattern.test(flow)) throw noFlow(flow, await ask.seen.children(paths.flows))
      const body = ask.body ?? (await declaredOf(ask))
      const { spec } = readFlowBody(body, ask.parts)
      const { units, topics, warnings } = await previewSoon(ask, { flow, kind: body.kind, spec })
      return { status: 200, body: { flow, units, topics, warnings } }
    },
  }),
]

async function declaredOf(ask: Ask): Promise<z.infer<typeof previewBody>> {
  const { doc } = await flowOf(ask)
  return { kind: doc.kind, spec: doc.spec as Record<string, unknown> }
}

/** What cannot be looked at now is a warning (C-102): a flow may be declared before its clusters are there. */
export async function previewSoon(
  ask: Pick<Ask, 'parts' | 'signal' | 'seen'>,
  of: Omit<PreviewAsked, 'overlay'>,
): Promise<Omit<Preview, 'units'> & { units: number | null }> {
  try {
    const found = await ask.seen.flow(of.flow)
    const overlay = found ? overlayOf(found.doc) : noOverlay
    return await soon(ask, previewMs, signal => ask.parts.preview({ ...of, overlay }, signal))
  } catch (error) {
    // A cluster that nobody knows is a fault of the spec; what is no error of ours is a bug.
    if (!(error instanceof MillraceError) || error.code === 'config-invalid') throw error
    return { topics: [], units: null, warnings: [faultOf(error, error.code)] }
  }
}
