import { z } from 'zod'
import { summaryOf, summaryShape } from './flowView.ts'
import { type Ask, type Route, route } from './route.ts'
import { answer, fault } from './words.ts'

export const statusRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/v1/status',
    role: 'viewer',
    summary: 'How the fleet does: who leads, whether the coordination service answers, and all flows (C-102)',
    leader: 'prefer',
    answers: {
      200: answer({
        version: z.string(),
        mode: z.enum(['fleet', 'solo']),
        leads: z.boolean().describe('whether the leader itself answered: it knows how many units are where'),
        leadingMs: z.int().nullable(),
        keepsChanges: z.boolean().describe('false: what people change is forgotten when the process ends (C-66)'),
        coordination: z.strictObject({ phase: z.string(), trouble: fault.nullable() }),
        auto: z.boolean(),
        workers: z.strictObject({ there: z.int(), drained: z.int(), silent: z.int() }),
        flows: z.array(z.strictObject(summaryShape)),
        wishesUnreadable: fault.nullable().describe('why the wishes cannot be read: the last good ones stand'),
        unreadable: z.array(z.strictObject({ flow: z.string(), fault })),
      }),
    },
    handle: getStatus,
  }),
]

async function getStatus({ parts, seen }: Ask) {
  const [flows, workers, wishes] = await Promise.all([seen.flows(), seen.workers(), seen.standingWishes()])
  const known = parts.known()
  const { phase, trouble } = parts.coordinator().state()
  const silent = [...(known?.workers().values() ?? [])].filter(one => one.silent).length
  const there = new Set([...workers.keys(), ...(known?.workers().keys() ?? [])])
  return {
    status: 200,
    body: {
      version: parts.version,
      mode: parts.mode,
      leads: known !== null,
      leadingMs: known ? Math.max(0, Math.round(parts.clock.nowMs() - known.sinceMs)) : null,
      keepsChanges: parts.keepsChanges,
      coordination: { phase, trouble },
      auto: wishes.doc.auto,
      workers: { there: there.size, drained: [...there].filter(id => wishes.doc.drains.has(id)).length, silent },
      flows: [...flows].flatMap(([flow, of]) => ('doc' in of ? [summaryOf(flow, of, parts)] : [])),
      wishesUnreadable: wishes.fault,
      unreadable: [...flows].flatMap(([flow, of]) => ('fault' in of ? [{ flow, fault: of.fault }] : [])),
    },
  }
}
