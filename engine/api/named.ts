import type { MillraceError } from '../errors.ts'
import type { FlowDoc } from '../fleet/decide/documents/flow.ts'
import { paths } from '../fleet/decide/documents/paths.ts'
import type { Known } from './parts.ts'
import { notAmong, notFound, refused } from './refusal.ts'
import type { Ask } from './route.ts'
import type { Tagged } from './seen.ts'
import { flowPattern, idPattern, isTopic, partitionOf } from './words.ts'

/** What the path of a request names. */

export function param(ask: Pick<Ask, 'params'>, name: string): string {
  return ask.params.get(name) ?? ''
}

/** The flow that must be there; throws 404 with the nearest name. */
export async function flowOf(ask: Pick<Ask, 'params' | 'seen'>): Promise<Tagged<FlowDoc> & { flow: string }> {
  const flow = param(ask, 'flow')
  // Its name is a place in the tree: one that is none is not looked for.
  const found = flowPattern.test(flow) ? await ask.seen.flow(flow) : null
  if (found) return { ...found, flow }
  throw noFlow(flow, await ask.seen.children(paths.flows))
}

export function noFlow(flow: string, among: Iterable<string>): MillraceError {
  return notAmong(`there is no flow '${flow.slice(0, 80)}'`, flow, among)
}

export function topicIn(ask: Pick<Ask, 'params'>): string {
  const topic = param(ask, 'topic')
  if (isTopic(topic)) return topic
  throw notFound(`'${topic.slice(0, 80)}' is no name of a topic`, null)
}

export function partitionIn(ask: Pick<Ask, 'params'>): number {
  const n = partitionOf(param(ask, 'partition'))
  if (n !== null) return n
  throw notFound(`'${param(ask, 'partition').slice(0, 80)}' is no number of a partition`, null)
}

/** A worker that is there now; throws 404 with the nearest id. */
export async function workerIn(ask: Pick<Ask, 'params' | 'seen'>): Promise<string> {
  const id = param(ask, 'id')
  const there = await ask.seen.children(paths.workers)
  if (idPattern.test(id) && there.includes(id)) return id
  throw notAmong(`there is no worker '${id.slice(0, 80)}'`, id, there)
}

/** For what only the leader can say. */
export function knownOf(ask: Pick<Ask, 'parts'>): Known {
  const known = ask.parts.known()
  if (known) return known
  const { phase, trouble } = ask.parts.coordinator().state()
  if (phase !== 'connected') {
    throw refused(
      trouble?.code ?? 'coordination-unreachable',
      trouble?.message ?? `the coordination service: ${phase}`,
      {
        status: 503,
        headers: { 'retry-after': '1' },
        hint: trouble?.hint ?? 'nobody leads until it answers; what runs goes on while its lease lasts',
      },
    )
  }
  throw refused('no-leader', 'this controller is just taking office', {
    status: 503,
    headers: { 'retry-after': '1' },
    hint: 'ask again soon',
  })
}

/** What one process does not have (C-96). */
export function notAlone(ask: Pick<Ask, 'parts'>, what: string): void {
  if (ask.parts.mode === 'fleet') return
  throw refused('conflict', `${what}: one process runs everything here`, {
    status: 409,
    hint: 'it is for a fleet of several: millrace run --workers N',
  })
}
