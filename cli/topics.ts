import { shownBytes } from '../engine/mirror/decide/progressLine.ts'
import type { Topic } from './answers.ts'
import { type ApiRequest, apiPath } from './apiClient.ts'
import { cell, counted } from './cells.ts'
import type { Given } from './noun.ts'
import { placeOf } from './place.ts'
import { done, type Said, wouldSend } from './said.ts'
import { tableOf } from './table.ts'
import { usage } from './usage.ts'

/** `millrace topics FLOW[/TOPIC]`. */
export async function topics({ api, args }: Given): Promise<Said> {
  const [text] = args
  if (text === undefined) throw usage('missing: the name of a flow', 'millrace topics clicks')
  const { flow, topic } = placeOf(text, { min: 1, max: 2 })
  const path = topic === null ? apiPath('flows', flow, 'topics') : apiPath('flows', flow, 'topics', topic)
  const answer = await api.ask({ method: 'GET', path })
  const found = topic === null ? (answer.json as { topics: readonly Topic[] }).topics : [answer.json as Topic]
  return { json: answer.text, names: found.map(one => one.topic), text: () => table(flow, found) }
}

const titles = ['TOPIC', 'DESTINATION', 'PARTITIONS', 'RECORDS', 'BYTES', 'LAG', 'GAP', 'SKIPPED', 'STATE', 'BY HAND']
const numbers = new Set(titles.slice(2, 8))

function table(flow: string, found: readonly Topic[]): string {
  if (found.length === 0) return `flow ${flow} has no topics yet\n`
  const rows = found.map(({ topic, overlay, report }) => [
    topic,
    cell(report?.destination),
    counted(report?.partitions),
    counted(report?.records),
    report ? shownBytes(report.bytes) : '-',
    counted(report?.lagRecords),
    counted(report?.gapRecords),
    counted(report?.skippedRecords),
    cell(report?.state),
    cell(overlay),
  ])
  return tableOf(titles, rows, numbers)
}

/** `millrace topics add FLOW TOPIC` (M-13). */
export function addTopic(given: Given): Promise<Said> {
  return put(given, 'PUT')
}

/** `millrace topics remove FLOW TOPIC` (M-13). */
export function removeTopic(given: Given): Promise<Said> {
  return put(given, 'DELETE')
}

async function put({ api, args, flags }: Given, method: 'PUT' | 'DELETE'): Promise<Said> {
  const { flow, topic } = namesIn(args, method === 'PUT' ? 'add' : 'remove')
  const request: ApiRequest = { method, path: apiPath('flows', flow, 'topics', topic) }
  if (flags.dryRun) return wouldSend(request, [topic])
  const answer = await api.ask(request)
  const { unchanged } = answer.json as { unchanged: boolean }
  const is = method === 'PUT' ? 'in' : 'out'
  const said = unchanged ? `was ${is} already` : `is ${is} now, whatever its spec selects`
  return done(answer, `flow ${flow}: topic ${topic} ${said}`, [topic])
}

/** `FLOW TOPIC`, or in one word as in other commands. */
function namesIn(args: readonly string[], verb: string): { flow: string; topic: string } {
  const [first = '', second] = args
  if (second !== undefined) return { flow: placeOf(first, { min: 1, max: 1 }).flow, topic: second }
  const { flow, topic } = placeOf(first, { min: 1, max: 2 })
  if (topic === null) throw usage('missing: the name of a topic', `millrace topics ${verb} ${flow} orders`)
  return { flow, topic }
}
