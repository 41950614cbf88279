import { canonical, type Json } from '../engine/fleet/decide/canonical.ts'
import type { StateExport } from '../engine/fleet/decide/export.ts'
import type { Flow, Overlay } from './answers.ts'
import { type ApiClient, type ApiRequest, apiPath } from './apiClient.ts'
import { refusalOf } from './apiProblem.ts'
import { type Applied, nothing, tried } from './applied.ts'
import { asItWasRead } from './asItWasRead.ts'
import { declaredNow, refuseDeleting } from './declared.ts'

/** A document of the export, as data of JSON. */
type Document = { kind?: unknown; spec?: unknown; overlay?: unknown; origin?: unknown; deleting?: unknown }

/**
 * C-104: creates the flows that are missing, gives one with an empty overlay that of the export, sets whether units are
 * balanced, and says what it left: drains and moves name processes of a fleet that is no more.
 */
export async function applyExport(api: ApiClient, state: StateExport, isDryRun: boolean): Promise<Applied[]> {
  const applied: Applied[] = []
  for (const [flow, json] of state.flows) {
    applied.push(await tried(flow, () => applyDocument(api, flow, plainOf(json) as Document, isDryRun)))
  }
  const wishes = plainOf(state.wishes) as { auto?: unknown; drains?: object; moves?: object } | null
  if (typeof wishes?.auto === 'boolean') {
    const { auto } = wishes
    applied.push(await tried('balancing', () => applyAuto(api, auto, isDryRun)))
  }
  for (const name of ['drains', 'moves'] as const) {
    const left = Object.keys(wishes?.[name] ?? {})
    if (left.length > 0) applied.push(nothing(name, 'left', `they name processes: ${left.join(', ')}`))
  }
  if (state.logging !== null) applied.push(nothing('logging', 'left', 'log levels are not in this version'))
  return applied
}

async function applyDocument(api: ApiClient, flow: string, doc: Document, isDryRun: boolean): Promise<Applied> {
  if (doc.deleting === true) return nothing(flow, 'left', 'it was being deleted')
  if (typeof doc.origin === 'string' && doc.origin.startsWith('package:')) {
    return nothing(flow, 'left', `it comes with ${doc.origin}`)
  }
  const before = await declaredNow(api, flow)
  refuseDeleting(before)
  const overlay = overlayOf(doc.overlay)
  if (before !== null && (overlay === null || !isEmpty(before.overlay))) {
    return nothing(flow, 'left', 'it is there')
  }
  if (isDryRun) {
    return before === null
      ? nothing(flow, 'would be created', '')
      : nothing(flow, 'would be changed', 'what people changed is given back')
  }
  // The spec of one that is there stays, also where a file declares it.
  const { kind, spec } = before ?? doc
  const request: ApiRequest = {
    method: 'PUT',
    path: apiPath('flows', flow),
    body: { kind, spec, ...(overlay === null ? {} : { overlay }) },
    ...(before === null ? { isCreate: true } : { ifMatch: before.etag }),
  }
  const answer = await asItWasRead(api, request, `flow ${flow}`)
  const { warnings } = answer.json as { warnings: Applied['warnings'] }
  const done =
    before === null ? nothing(flow, 'created', '') : nothing(flow, 'changed', 'what people changed is given back')
  return { ...done, answer: answer.json, warnings }
}

/** Null: nobody had changed anything. */
function overlayOf(given: unknown): unknown {
  const { topics = {}, paused = {}, skips = {} } = (given ?? {}) as Partial<Overlay>
  return isEmpty({ topics, paused, skips }) ? null : { topics, paused, skips }
}

function isEmpty({ topics, paused, skips }: Flow['overlay']): boolean {
  return [topics, paused, skips].every(of => Object.keys(of).length === 0)
}

async function applyAuto(api: ApiClient, auto: boolean, isDryRun: boolean): Promise<Applied> {
  const word = auto ? 'on' : 'off'
  if (isDryRun) return nothing('balancing', 'would be changed', word)
  const told = await api.tell({ method: 'PUT', path: apiPath('balancing'), body: { auto } })
  if (told.ok) {
    const { unchanged } = told.answer.json as { unchanged: boolean }
    return { ...nothing('balancing', unchanged ? 'unchanged' : 'changed', word), answer: told.answer.json }
  }
  // One process has no balance (C-96).
  if (told.problem.code === 'conflict') return nothing('balancing', 'left', told.problem.detail)
  throw refusalOf(told.problem)
}

/** Documents are read into Maps (C-121). */
function plainOf(json: Json): unknown {
  return JSON.parse(canonical(json))
}
