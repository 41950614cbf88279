import { decodeRanges } from '../engine/fleet/decide/ranges.ts'
import { apiWaitMaxSeconds } from '../engine/limits.ts'
import type { Flow, Overlay, PartitionRow } from './answers.ts'
import { type ApiRequest, apiPath } from './apiClient.ts'
import { plural } from './cells.ts'
import { pausedText } from './flows.ts'
import { type NamedTopic, notThere } from './notThere.ts'
import type { Given, NounFlags } from './noun.ts'
import { placeOf } from './place.ts'
import { done, type Said, wouldSend } from './said.ts'
import { usage } from './usage.ts'

type Answer = { paused: Overlay['paused']; held: number; unchanged: boolean }
type Body = { topics?: readonly string[]; partitions?: Record<string, string> } | undefined

const timeOver = 13

/** `millrace pause FLOW [--topic T] [--partitions 0-3] [--wait 10]`. */
export async function pause({ api, args, flags }: Given): Promise<Said> {
  const { flow, body } = meantBy(args, flags, 'pause')
  const seconds = waitOf(flags.wait)
  const path = `${apiPath('flows', flow, 'pause')}${seconds === null ? '' : `?wait=${seconds}`}`
  const request = withBody({ method: 'POST', path, moreMs: (seconds ?? 0) * 1_000 }, body)
  const named = namedIn(body)
  if (flags.dryRun) return { ...wouldSend(request, [flow], await wouldStop(api, flow, named)), ...(await notedOf()) }
  const answer = await api.ask(request)
  const { paused, held, unchanged } = answer.json as Answer
  const running = held === 0 ? 'none of it runs' : `${plural(held, 'unit')} of it still ${held === 1 ? 'runs' : 'run'}`
  const waits = held > 0 && seconds === null ? '; --wait 10 waits for that' : ''
  const said = `flow ${flow}: paused${unchanged ? ' already' : ''}: ${pausedText(paused)}; ${running}${waits}`
  const noted = await notedOf()
  if (held === 0 || seconds === null) return { ...done(answer, said, [flow]), ...noted }
  const note = `after ${seconds} s ${plural(held, 'unit')} still ${held === 1 ? 'runs' : 'run'}; the pause stands\n`
  return { ...done(answer, said, [flow]), note: `${noted.note ?? ''}${note}`, code: timeOver }

  async function notedOf(): Promise<{ note?: string }> {
    const lines = await notThere(api, flow, named)
    return lines.length === 0 ? {} : { note: lines.map(line => `${line}; a pause of it waits for it\n`).join('') }
  }
}

async function wouldStop(api: Given['api'], flow: string, named: readonly NamedTopic[]): Promise<string> {
  const answer = await api.ask({ method: 'GET', path: apiPath('flows', flow, 'partitions') })
  const { partitions } = answer.json as { partitions: readonly PartitionRow[] }
  const isMeant = ({ topic, partition }: PartitionRow) =>
    named.some(one => one.topic === topic && (one.ranges === null || decodeRanges(one.ranges).includes(partition)))
  const meant = partitions.filter(row => row.worker !== null && (named.length === 0 || isMeant(row)))
  return `${plural(meant.length, 'unit')} would stop`
}

function namedIn(body: Body): NamedTopic[] {
  return [
    ...(body?.topics ?? []).map(topic => ({ topic, ranges: null })),
    ...Object.entries(body?.partitions ?? {}).map(([topic, ranges]) => ({ topic, ranges })),
  ]
}

/** `millrace resume FLOW [--topic T] [--partitions 0-3]`: what is in error tries again at once (C-38). */
export async function resume({ api, args, flags }: Given): Promise<Said> {
  const { flow, body } = meantBy(args, flags, 'resume')
  const request = withBody({ method: 'POST', path: apiPath('flows', flow, 'resume') }, body)
  if (flags.dryRun) {
    const { overlay } = (await api.ask({ method: 'GET', path: apiPath('flows', flow) })).json as Flow
    return wouldSend(request, [flow], `paused now: ${pausedText(overlay.paused)}`)
  }
  const answer = await api.ask(request)
  const { paused } = answer.json as Answer
  const left = Object.keys(paused).length === 0 ? '' : `; still paused: ${pausedText(paused)}`
  return done(answer, `flow ${flow}: resumed; what is in error tries again now${left}`, [flow])
}

function withBody(request: ApiRequest, body: Body): ApiRequest {
  return body === undefined ? request : { ...request, body }
}

/** Undefined: all of the flow. `FLOW/TOPIC/3` says the same as `FLOW --topic TOPIC --partitions 3`. */
function meantBy(args: readonly string[], flags: NounFlags, verb: string): { flow: string; body: Body } {
  const example = `millrace ${verb} clicks --topic orders --partitions 0-3`
  const { flow, topic, partition } = placeOf(args[0] ?? '', { min: 1, max: 3 })
  if (topic !== null && (flags.topic !== undefined || flags.partitions !== undefined)) {
    throw usage('a topic behind the flow, and --topic or --partitions: one too many', example)
  }
  const topics = topic === null ? flags.topic : [topic]
  const ranges = partition === null ? flags.partitions : String(partition)
  if (ranges === undefined) return { flow, body: topics && { topics } }
  const [only, ...more] = topics ?? []
  if (only === undefined || more.length > 0) throw usage('--partitions: of one topic, named by --topic', example)
  return { flow, body: { partitions: Object.fromEntries([[only, ranges]]) } }
}

function waitOf(text: string | undefined): number | null {
  if (text === undefined) return null
  const seconds = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (seconds >= 1 && seconds <= apiWaitMaxSeconds) return seconds
  throw usage(
    `--wait: expected seconds from 1 to ${apiWaitMaxSeconds}, found '${text}'`,
    'millrace pause clicks --wait 10',
  )
}
