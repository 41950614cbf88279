import { z } from 'zod'
import { MillraceError } from '../errors.ts'
import { canonical } from '../fleet/decide/canonical.ts'
import { hasLeft } from '../fleet/decide/declared.ts'
import { type FlowDoc, noFlowOverlay, readFlow, writeFlow } from '../fleet/decide/documents/flow.ts'
import { paths } from '../fleet/decide/documents/paths.ts'
import type { FlowReport } from '../flow/report.ts'
import { partitionStates } from '../flow/states.ts'
import { type FlowBody, flowBody, overlayFrom, readFlowBody } from './flowBody.ts'
import { changedNow, noteFlow } from './flowChange.ts'
import { countsOf, overlayAnswer, overlayOut, summaryOf, summaryShape } from './flowView.ts'
import { heldOf } from './heldUnits.ts'
import { etag, noTag } from './match.ts'
import { flowOf, noFlow, param } from './named.ts'
import type { ApiKinds, KnownEvent } from './parts.ts'
import { previewSoon } from './preview.ts'
import { badBody, conflict, refused } from './refusal.ts'
import { type Ask, type Route, route } from './route.ts'
import { topicReport } from './topics.ts'
import { answer, fault, flowPattern, nothing, offsetOrNull } from './words.ts'

const report = z.strictObject({
  topics: z.array(topicReport),
  warnings: z.array(z.strictObject({ code: z.string(), message: z.string(), hint: z.string().nullable() })).optional(),
  partitions: z.int(),
  notRunning: z.int(),
  partitionsUnknown: z.int(),
  lagRecords: z.int().nullable(),
  lagSeconds: z.number().nullable(),
  records: z.int().nullable(),
  bytes: z.int().nullable(),
  gapRecords: z.int().nullable(),
  skippedRecords: z.int().nullable(),
}) satisfies z.ZodType<FlowReport>
const warning = z.strictObject({ code: z.string(), message: z.string(), hint: z.string().nullable() })

const event = z.strictObject({
  at: z.iso.datetime(),
  ...fault.shape,
  topic: z.string().nullable(),
  partition: z.int().nullable(),
  partitions: z.int().nullable().describe('how many it concerns'),
  worker: z.string().nullable().describe('who has reported it'),
  state: z.enum(partitionStates).nullable(),
  offset: offsetOrNull,
  from: offsetOrNull,
  to: offsetOrNull,
})

const flowAnswer = answer({
  ...summaryShape,
  spec: z.record(z.string(), z.unknown()),
  overlay: overlayAnswer,
  report: report.nullable(),
  aside: z.array(z.strictObject({ action: z.string(), fault })),
  events: z.array(event).describe('the last 100 that the leader has heard of, the newest last'),
})
const listed = z.union([
  z.strictObject(summaryShape),
  z.strictObject({ flow: z.string(), etag: z.string(), unreadable: fault }),
])
const written = answer({
  flow: z.string(),
  etag: z.string(),
  created: z.boolean(),
  unchanged: z.boolean(),
  units: z.int().nullable().describe('what would run now; null: nobody could look'),
  warnings: z.array(warning),
})

export const flowRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/v1/flows',
    role: 'viewer',
    summary: 'All flows, and how many of their units are where',
    leader: 'prefer',
    answers: { 200: answer({ flows: z.array(listed) }) },
    async handle(ask) {
      const flows = [...(await ask.seen.flows())].map(([flow, found]) =>
        'doc' in found ? summaryOf(flow, found, ask.parts) : { flow, etag: etag(found.tag), unreadable: found.fault },
      )
      return { status: 200, body: { flows } }
    },
  }),
  route({
    method: 'GET',
    path: '/v1/flows/{flow}',
    role: 'viewer',
    summary: 'A flow: what is declared, what people changed, and how it does',
    leader: 'prefer',
    answers: { 200: flowAnswer },
    handle: getFlow,
  }),
  route({
    method: 'PUT',
    path: '/v1/flows/{flow}',
    role: 'admin',
    summary: 'Declares a flow: creates it, or changes it with If-Match',
    matches: true,
    body: flowBody,
    answers: { 200: written, 201: written },
    handle: putFlow,
  }),
  route({
    method: 'DELETE',
    path: '/v1/flows/{flow}',
    role: 'admin',
    summary: 'Ends a flow: its units are withdrawn, then it goes; needs If-Match or ?force=true. Offsets stay in Kafka',
    matches: true,
    query: z.strictObject({ force: z.enum(['true', 'false']).optional() }),
    body: nothing.optional(),
    answers: { 202: answer({ flow: z.string(), etag: z.string(), unchanged: z.boolean(), held: z.int() }) },
    handle: deleteFlow,
  }),
]

async function getFlow(ask: Ask) {
  const { flow, tag, doc } = await flowOf(ask)
  const known = ask.parts.known()?.flows().get(flow) ?? null
  const aside = [...(known?.aside ?? [])].map(([action, why]) => ({ action, fault: why }))
  const events = (ask.parts.events?.(flow) ?? []).map(eventOut)
  const body = { spec: doc.spec, overlay: overlayOut(doc.overlay), report: known?.report() ?? null, aside, events }
  return {
    status: 200,
    tag,
    body: { ...summaryOf(flow, { tag, doc }, ask.parts), ...countsOf(known, ask.parts), ...body },
  }
}

function eventOut(of: KnownEvent): object {
  const { code, message, hint = null, topic = null, partition = null, partitions = null, worker, state = null } = of
  const { offset = null, from = null, to = null } = of
  const at = new Date(of.atMs).toISOString()
  return { at, code, message, hint, topic, partition, partitions, worker, state, offset, from, to }
}

async function putFlow(ask: Ask<unknown, FlowBody>) {
  const flow = param(ask, 'flow')
  if (!flowPattern.test(flow)) {
    const found = `'${flow.slice(0, 80)}'`
    throw badBody([{ path: 'flow', found, expected: '[a-z0-9][a-z0-9-]{0,62}', hint: null }], 'the name')
  }
  const { entry, spec } = readFlowBody(ask.body, ask.parts)
  const isAsked = await isAsDeclared(ask, flow)
  if (!isAsked) await refuseClashes(ask, flow, spec)
  const seen = isAsked ? null : await previewSoon(ask, { flow, kind: ask.body.kind, spec })
  const changed = await ask.writer.change<FlowDoc>({
    path: paths.flow(flow),
    what: `flow ${flow}`,
    match: ask.match,
    read: readFlow,
    write: writeFlow,
    to: (before, tag) => declared(ask, { flow, entry, spec }, before, tag),
  })
  noteFlow(ask, changed)
  const tag = changed.after?.tag ?? null
  return {
    status: changed.is === 'created' ? 201 : 200,
    body: {
      flow,
      etag: etag(tag),
      created: changed.is === 'created',
      unchanged: changed.is === 'unchanged',
      units: seen?.units ?? null,
      warnings: seen?.warnings ?? [],
    },
    ...(tag === null ? {} : { tag }),
  }
}

/** Nothing has to be looked at for what stands already. */
async function isAsDeclared(ask: Ask<unknown, FlowBody>, flow: string): Promise<boolean> {
  const found = await ask.seen.flow(flow)
  return found !== null && isSame(found.doc, docOf(ask, found.doc))
}

/** C-100: without If-Match it creates; what is there alike is left alone, what is there otherwise is not touched. */
function declared(
  ask: Ask<unknown, FlowBody>,
  of: { flow: string; entry: ApiKinds[string]; spec: unknown },
  before: FlowDoc | null,
  tag: string | null,
): FlowDoc | null {
  const after = docOf(ask, before)
  if (before === null) return after
  if (before.deleting)
    throw conflict(`flow ${of.flow} is being deleted`, 'ask again when it is gone: it is made anew then', tag)
  if (isSame(before, after)) return null
  // The overlay of a flow of the file may be changed, its spec may not (C-67).
  if (!isSameSpec(before, after)) refuseOrigin(of.flow, before.origin, tag)
  if (ask.match.ifMatch === null) {
    throw conflict(`flow ${of.flow} is there, and it is another one`, 'to change it, send If-Match with its ETag', tag)
  }
  if (before.kind !== after.kind) {
    throw conflict(
      `flow ${of.flow} is of the kind ${before.kind}`,
      'delete it first, or give the other one a name',
      tag,
    )
  }
  const fault = before.overlay.paused === '*' ? null : refusesChange(of, before)
  if (fault) throw conflict(fault.message, fault.hint ?? 'pause the flow first', tag)
  return after
}

function docOf(ask: Ask<unknown, FlowBody>, before: FlowDoc | null): FlowDoc {
  const { kind, spec, overlay } = ask.body
  return {
    kind,
    origin: before?.origin ?? 'api',
    changedBy: changedNow(ask),
    spec: spec as FlowDoc['spec'],
    overlay: overlay ? overlayFrom(overlay) : (before?.overlay ?? noFlowOverlay),
    deleting: false,
    rest: before?.rest ?? new Map(),
  }
}

function isSame(a: FlowDoc, b: FlowDoc): boolean {
  const changedBy = { atMs: 0, by: '' }
  return writeFlow({ ...a, changedBy }) === writeFlow({ ...b, changedBy })
}

function isSameSpec(a: FlowDoc, b: FlowDoc): boolean {
  return a.kind === b.kind && canonical(a.spec) === canonical(b.spec)
}

/** C-67. */
function refuseOrigin(flow: string, origin: string, tag: string | null): void {
  if (origin === 'config') throw conflict(`flow ${flow} is declared by the file`, 'edit the file', tag)
  if (origin.startsWith('package:')) {
    throw conflict(`flow ${flow} is declared by ${origin}`, 'put a new package in its place', tag)
  }
}

/** What a running flow does not take (M-20); of one whose spec cannot be read any more nothing is known. */
function refusesChange(of: { entry: ApiKinds[string]; spec: unknown }, before: FlowDoc) {
  let old: unknown
  try {
    old = of.entry.readSpec(before.spec)
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error
    return null
  }
  return of.entry.kind.refuses(old, of.spec)
}

/** What flows of a kind may not do together. Of two that are written at once at two controllers the leader tells. */
async function refuseClashes(ask: Ask<unknown, FlowBody>, flow: string, spec: unknown): Promise<void> {
  const { kind } = ask.body
  const entry = ask.parts.kinds[kind]
  if (!entry?.clashes) return
  const specs = new Map<string, unknown>()
  for (const [name, found] of await ask.seen.flows()) {
    if (name === flow || !('doc' in found) || found.doc.kind !== kind || found.doc.deleting) continue
    try {
      specs.set(name, entry.readSpec(found.doc.spec))
    } catch (error) {
      // One that cannot be read does not run.
      if (!(error instanceof MillraceError)) throw error
    }
  }
  const clashes = entry.clashes(specs.set(flow, spec)).filter(clash => clash.flow === flow)
  const faults = clashes.map(({ other, topic }) => ({
    path: 'spec.topics',
    found: topic,
    expected: `what flow ${other} does not take`,
    hint: `flow ${other} writes it to the same place`,
  }))
  if (faults.length > 0) throw badBody(faults)
}

async function deleteFlow(ask: Ask<{ force?: 'true' | 'false' | undefined }>) {
  const flow = param(ask, 'flow')
  const among = await ask.seen.children(paths.flows)
  if (!flowPattern.test(flow)) throw noFlow(flow, among)
  if (ask.match.ifMatch === null && ask.query.force !== 'true') {
    const { tag } = await flowOf(ask)
    throw refused('request-invalid', `flow ${flow}: it is not said which one is to go`, {
      status: 428,
      tag,
      hint: 'send If-Match with its ETag, or ?force=true',
    })
  }
  const changed = await ask.writer.change<FlowDoc>({
    path: paths.flow(flow),
    what: `flow ${flow}`,
    match: ask.match,
    read: readFlow,
    write: writeFlow,
    to(before, tag) {
      if (before === null) throw noFlow(flow, among)
      // The file cannot end what it does not have any more.
      if (before.origin !== 'config' || !hasLeft(before)) refuseOrigin(flow, before.origin, tag)
      return before.deleting ? null : { ...before, deleting: true, changedBy: changedNow(ask) }
    },
  })
  noteFlow(ask, changed)
  const tag = changed.after?.tag ?? noTag
  const held = await heldOf(ask, flow, () => true)
  return { status: 202, tag, body: { flow, etag: etag(tag), unchanged: changed.is === 'unchanged', held: held.length } }
}
