import type { Topic } from './answers.ts'
import { type ApiRequest, apiPath } from './apiClient.ts'
import { bytesCell, cell, counted } from './cells.ts'
import { notThere } from './notThere.ts'
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
  const rows = found.map(({ topic, overlay, paused, report }) => [
    topic,
    cell(report?.destination),
    counted(report?.partitions),
    counted(report?.records),
    bytesCell(report?.bytes),
    counted(report?.lagRecords),
    counted(report?.gapRecords),
    counted(report?.skippedRecords),
    cell(report?.state),
    cell(byHand(overlay, paused)),
  ])
  return tableOf(titles, rows, numbers)
}

function byHand(overlay: Topic['overlay'], paused: string | null): string {
  const words = overlay === null ? [] : [overlay as string]
  if (paused !== null) words.push(paused === '*' ? 'paused' : `paused ${paused}`)
  return words.join(', ')
}

/** `millrace topics add FLOW TOPIC` (M-13). */
export function addTopic(given: Given): Promise<Said> {
  return put(given, 'in')
}

/** `millrace topics remove FLOW TOPIC` (M-13). */
export function removeTopic(given: Given): Promise<Said> {
  return put(given, 'out')
}

/** `millrace topics forget FLOW TOPIC`: neither in nor out by hand. */
export function forgetTopic(given: Given): Promise<Said> {
  return put(given, null)
}

async function put({ api, args, flags }: Given, to: 'in' | 'out' | null): Promise<Said> {
  const { flow, topic } = namesIn(args, to === 'in' ? 'add' : to === 'out' ? 'remove' : 'forget')
  const path = apiPath('flows', flow, 'topics', topic)
  const request: ApiRequest =
    to === 'out'
      ? { method: 'DELETE', path }
      : { method: 'PUT', path, ...(to === null ? { body: { overlay: null } } : {}) }
  // One to come may be put in; one to take out is there, or mistyped. Asked before: afterwards it is by hand.
  const unknown = to === 'out' ? await notThere(api, flow, [{ topic, ranges: null }]) : []
  const note = unknown.map(line => `${line}; millrace topics forget ${flow} ${topic} takes this back\n`).join('')
  const noted = note === '' ? {} : { note }
  if (flags.dryRun) {
    await api.ask({ method: 'GET', path: apiPath('flows', flow) })
    return { ...wouldSend(request, [topic]), ...noted }
  }
  const answer = await api.ask(request)
  const { unchanged } = answer.json as { unchanged: boolean }
  const said =
    to === null
      ? `${unchanged ? 'was' : 'is'} neither in nor out by hand${unchanged ? '' : ' any more'}: its spec decides`
      : unchanged
        ? `was ${to} already`
        : `is ${to} now, whatever its spec selects`
  return { ...done(answer, `flow ${flow}: topic ${topic} ${said}`, [topic]), ...noted }
}

/** `FLOW TOPIC`, or in one word as in other commands. */
function namesIn(args: readonly string[], verb: string): { flow: string; topic: string } {
  const [first = '', second] = args
  if (second !== undefined) return { flow: placeOf(first, { min: 1, max: 1 }).flow, topic: second }
  const { flow, topic } = placeOf(first, { min: 1, max: 2 })
  if (topic === null) throw usage('missing: the name of a topic', `millrace topics ${verb} ${flow} orders`)
  return { flow, topic }
}
