import type { Overlay } from '../../flow/overlay.ts'
import { partOf } from '../../flow/unitName.ts'
import { type Json, sameJson } from './canonical.ts'
import { type FlowDoc, type FlowOverlay, noFlowOverlay } from './documents/flow.ts'

/** A flow of the leader's file (C-67). */
export type DeclaredFlow = { kind: string; spec: Json; overlay: Overlay }

/** Beside what is known of a flow: what the file said of its overlay, and what was paused when it left the file. */
const mark = 'file'

/**
 * What the file makes of the documents: creates and updates its flows, pauses those that have left it and lifts that
 * when they are back, deletes none. What people have changed outlives every edit; what the file itself says of pauses
 * and skips counts when it says something new. `docs`: null = one that cannot be read.
 */
export function declaredChanges(
  declared: ReadonlyMap<string, DeclaredFlow>,
  docs: ReadonlyMap<string, FlowDoc | null>,
  atMs: number,
): { changes: Map<string, FlowDoc>; foreign: string[] } {
  const changes = new Map<string, FlowDoc>()
  const foreign: string[] = []
  for (const [name, flow] of declared) {
    const before = docs.get(name)
    if (before === null) continue
    if (before && before.origin !== 'config') foreign.push(name)
    else {
      const next = broughtIn(flow, before ?? null, atMs)
      if (next) changes.set(name, next)
    }
  }
  for (const [name, doc] of docs) {
    if (doc === null || doc.origin !== 'config' || declared.has(name) || leftWith(doc) !== null) continue
    const file = new Map([...markOf(doc), ['left', pausedJson(doc.overlay.paused)] as const])
    const overlay = { ...doc.overlay, paused: '*' as const }
    changes.set(name, {
      ...doc,
      overlay,
      changedBy: { atMs, by: 'config' },
      rest: new Map([...doc.rest, [mark, file]]),
    })
  }
  return { changes, foreign }
}

/** Null: it stands as the file has it. */
function broughtIn({ kind, spec, overlay }: DeclaredFlow, before: FlowDoc | null, atMs: number): FlowDoc | null {
  const said = writtenOverlay(overlay)
  const saidJson: Json = { paused: pausedJson(said.paused), skips: skipsJson(said.skips) }
  const rest = new Map([...(before?.rest ?? []), [mark, new Map([['said', saidJson]])]])
  const changedBy = { atMs, by: 'config' }
  if (before === null) return { kind, origin: 'config', changedBy, spec, overlay: said, deleting: false, rest }
  const isNew = !sameJson(markOf(before).get('said') ?? null, saidJson)
  const left = leftWith(before)
  const isSame = before.kind === kind && sameJson(before.spec, spec)
  if (isSame && !isNew && left === null) return null
  const paused = isNew ? said.paused : left === null ? before.overlay.paused : pausedFrom(left)
  const skips = isNew ? new Map([...before.overlay.skips, ...said.skips]) : before.overlay.skips
  return { ...before, kind, spec, changedBy, overlay: { ...before.overlay, paused, skips }, rest }
}

function markOf({ rest }: FlowDoc): ReadonlyMap<string, Json> {
  const json = rest.get(mark)
  if (json instanceof Map) return json
  return new Map(typeof json === 'object' && json !== null && !Array.isArray(json) ? Object.entries(json) : [])
}

/** What was paused when it left the file; null: it has not left. */
function leftWith(doc: FlowDoc): Json {
  return markOf(doc).get('left') ?? null
}

/** Its file does not have it any more: nobody can end it there. */
export function hasLeft(doc: FlowDoc): boolean {
  return leftWith(doc) !== null
}

/** Its file does not have it any more, and nobody has resumed it: it stays for what people said of it. */
export function isLeft(doc: FlowDoc): boolean {
  return hasLeft(doc) && doc.overlay.paused === '*'
}

function writtenOverlay({ paused, skips, topics }: Overlay): FlowOverlay {
  const byTopic = new Map<string, Map<number, readonly [string | number, number]>>()
  for (const [unit, { offset, records }] of skips) {
    const { topic, partition } = partOf(unit)
    const written = offset <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(offset) : String(offset)
    byTopic.set(topic, (byTopic.get(topic) ?? new Map()).set(partition, [written, records]))
  }
  const parts = (of: '*' | ReadonlySet<number>) => (of === '*' ? '*' : [...of].sort((a, b) => a - b))
  return {
    ...{ ...noFlowOverlay, topics, skips: byTopic },
    paused: paused === '*' ? '*' : new Map([...paused].map(([topic, of]) => [topic, parts(of)])),
  }
}

function pausedJson(paused: FlowOverlay['paused']): Json {
  return paused === '*' ? '*' : new Map([...paused].map(([topic, of]) => [topic, of === '*' ? '*' : [...of]]))
}

function pausedFrom(json: Json): FlowOverlay['paused'] {
  if (json === '*' || typeof json !== 'object' || json === null) return json === '*' ? '*' : new Map()
  const entries = json instanceof Map ? [...json] : Object.entries(json as Record<string, Json>)
  return new Map(entries.map(([topic, of]) => [topic, of === '*' ? '*' : (of as readonly number[])]))
}

function skipsJson(skips: FlowOverlay['skips']): Json {
  return new Map(
    [...skips].map(([topic, of]) => [topic, new Map([...of].map(([n, [at, count]]) => [`${n}`, [at, count]]))]),
  )
}

/** Without the skips that the checkpoint has passed (C-38); null: none has. */
export function skipsPassed(
  doc: FlowDoc,
  checkpointOf: (topic: string, partition: number) => bigint | null,
): FlowDoc | null {
  let passed = false
  const skips = new Map<string, Map<number, readonly [string | number, number]>>()
  for (const [topic, of] of doc.overlay.skips) {
    for (const [partition, entry] of of) {
      const checkpoint = checkpointOf(topic, partition)
      if (checkpoint !== null && checkpoint > BigInt(entry[0])) passed = true
      else skips.set(topic, (skips.get(topic) ?? new Map()).set(partition, entry))
    }
  }
  return passed ? { ...doc, overlay: { ...doc.overlay, skips } } : null
}
