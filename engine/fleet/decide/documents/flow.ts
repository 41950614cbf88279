import type { Overlay } from '../../../flow/overlay.ts'
import { rangeNumbersMax } from '../../../limits.ts'
import { canonical, type Json } from '../canonical.ts'
import { decodeRanges, encodeRanges } from '../ranges.ts'
import { type ChangedBy, changedByOf } from './changedBy.ts'
import { documentFields, type Fields } from './fields.ts'

/** What people change on a flow, as it is written (C-38). */
export type FlowOverlay = {
  topics: ReadonlyMap<string, 'in' | 'out'>
  /** `'*'`: all of the flow, or of that topic. */
  paused: '*' | ReadonlyMap<string, '*' | readonly number[]>
  /** By topic and partition: from this failing offset so many records. An offset above 2⁵³ is a decimal text. */
  skips: ReadonlyMap<string, ReadonlyMap<number, readonly [offset: string | number, records: number]>>
}

/** `/flows/<flow>`. */
export type FlowDoc = {
  kind: string
  /** `config`, `api` or `package:<key>` (C-67). */
  origin: string
  changedBy: ChangedBy
  /** As declared; `requires` stands inside when it was given. */
  spec: Json
  overlay: FlowOverlay
  /** Asked to go: its units are withdrawn, then it ends. */
  deleting: boolean
  rest: ReadonlyMap<string, Json>
}

export const noFlowOverlay: FlowOverlay = { topics: new Map(), paused: new Map(), skips: new Map() }

const known = ['changedBy', 'deleting', 'kind', 'origin', 'overlay', 'spec']

export function readFlow(text: string, path: string): FlowDoc {
  const fields = documentFields(text, path)
  return {
    kind: fields.text('kind'),
    origin: fields.text('origin'),
    changedBy: changedByOf(fields.inner('changedBy')),
    spec: fields.json('spec'),
    overlay: readOverlay(fields.inner('overlay')),
    deleting: fields.has('deleting') && fields.flag('deleting'),
    rest: fields.rest(known),
  }
}

function readOverlay(fields: Fields): FlowOverlay {
  const topics = fields.inner('topics')
  return {
    topics: new Map(topics.names().map(topic => [topic, topics.oneOf(topic, ['in', 'out'])])),
    paused: readPaused(fields.inner('paused')),
    skips: readSkips(fields.inner('skips')),
  }
}

function readPaused(fields: Fields): FlowOverlay['paused'] {
  if (fields.has('*')) {
    fields.oneOf('*', ['*'])
    return '*'
  }
  let room = rangeNumbersMax
  const paused = new Map<string, '*' | readonly number[]>()
  for (const topic of fields.names()) {
    const text = fields.text(topic)
    const of = text === '*' ? text : decodeRanges(text, room)
    if (of !== '*') room -= of.length
    paused.set(topic, of)
  }
  return paused
}

function readSkips(fields: Fields): FlowOverlay['skips'] {
  const skips = new Map<string, Map<number, readonly [string | number, number]>>()
  for (const topic of fields.names()) {
    const parts = fields.inner(topic)
    const of = new Map<number, readonly [string | number, number]>()
    for (const name of parts.names()) {
      const json = parts.json(name)
      const [offset, records, more] = Array.isArray(json) ? json : []
      const isOffset =
        typeof offset === 'number' ? Number.isSafeInteger(offset) && offset >= 0 : /^\d{1,19}$/.test(String(offset))
      const isCount = typeof records === 'number' && Number.isSafeInteger(records) && records > 0
      if (!isOffset || !isCount || more !== undefined || !/^(0|[1-9]\d{0,9})$/.test(name))
        throw parts.corrupt(name, 'a partition with [offset, records]')
      of.set(Number(name), [offset as string | number, records])
    }
    skips.set(topic, of)
  }
  return skips
}

export function writeFlow({ rest, overlay, deleting, ...doc }: FlowDoc): string {
  const fields = new Map<string, Json>([...rest, ...Object.entries(doc), ['v', 1]])
  fields.set('overlay', overlayJson(overlay))
  if (deleting) fields.set('deleting', true)
  return canonical(fields)
}

function overlayJson({ topics, paused, skips }: FlowOverlay): Json {
  const pausedJson =
    paused === '*'
      ? { '*': '*' }
      : new Map([...paused].map(([topic, of]) => [topic, of === '*' ? '*' : encodeRanges(of)] as const))
  if (pausedJson instanceof Map) for (const [topic, text] of pausedJson) if (text === '') pausedJson.delete(topic)
  const skipsJson = new Map<string, Json>()
  for (const [topic, of] of skips) {
    if (of.size > 0)
      skipsJson.set(topic, new Map([...of].map(([n, [offset, records]]) => [String(n), [offset, records]])))
  }
  return { paused: pausedJson, skips: skipsJson, topics }
}

/** As the kinds see it. */
export function overlayOf({ overlay: { topics, paused, skips } }: FlowDoc): Overlay {
  return {
    topics,
    paused: paused === '*' ? '*' : new Map([...paused].map(([topic, of]) => [topic, of === '*' ? '*' : new Set(of)])),
    skips: new Map(
      [...skips].flatMap(([topic, of]) =>
        [...of].map(([n, [offset, records]]) => [`${topic}/${n}`, { offset: BigInt(offset), records }] as const),
      ),
    ),
  }
}
