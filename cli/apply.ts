import { type ApiClient, type ApiRequest, apiPath } from './apiClient.ts'
import { type Applied, nothing, tried } from './applied.ts'
import { applyExport } from './applyExport.ts'
import { asItWasRead } from './asItWasRead.ts'
import { cell, plural } from './cells.ts'
import { changesOf, declaredNow, refuseDeleting } from './declared.ts'
import { diffText } from './diff.ts'
import { exitCodeOf } from './exitCode.ts'
import { type FlowOfFile, readFlowsFile } from './flowsFile.ts'
import type { Given } from './noun.ts'
import { faultLines } from './output.ts'
import type { Said } from './said.ts'
import { usage } from './usage.ts'

/** `millrace apply -f FILE`: declares flows, one after the other; one that is refused keeps no other. */
export async function apply({ api, flags, io }: Given): Promise<Said> {
  const file = await readFlowsFile(io, flags.file, 'millrace apply -f flows.yaml')
  const how = { isCreateOnly: flags.createOnly === true, isDryRun: flags.dryRun === true }
  if (file.is === 'export') {
    if (!how.isCreateOnly) {
      throw usage(
        'a state that was exported changes nothing that is there: --create-only',
        'millrace apply -f state.json --create-only',
      )
    }
    return resultOf(await applyExport(api, file.state, how.isDryRun))
  }
  const applied: Applied[] = []
  for (const one of file.flows) {
    applied.push(await tried(one.flow, () => (how.isDryRun ? wouldApply(api, one, how) : applyOne(api, one, how))))
  }
  return resultOf(applied)
}

type How = { isCreateOnly: boolean; isDryRun: boolean }

async function applyOne(api: ApiClient, one: FlowOfFile, { isCreateOnly }: How): Promise<Applied> {
  const before = await declaredNow(api, one.flow)
  refuseDeleting(before)
  if (before !== null && isCreateOnly) return nothing(one.flow, 'left', 'it is there')
  const changes = changesOf(before, one)
  if (before !== null && changes.length === 0) return nothing(one.flow, 'unchanged', overlayNote(one))
  const request: ApiRequest = {
    method: 'PUT',
    path: apiPath('flows', one.flow),
    body: {
      kind: one.kind,
      spec: one.spec,
      ...(before === null && one.overlay !== null ? { overlay: one.overlay } : {}),
    },
    ...(before === null ? { isCreate: true } : { ifMatch: before.etag }),
  }
  const told = await asItWasRead(api, request, `flow ${one.flow}`, one.where)
  const { created, unchanged, units, warnings } = told.json as {
    created: boolean
    unchanged: boolean
    units: number | null
    warnings: Applied['warnings']
  }
  const is = created ? 'created' : unchanged ? 'unchanged' : 'changed'
  const note = units === null ? 'how many units it has is not known yet' : plural(units, 'unit')
  return {
    ...nothing(one.flow, is, before === null ? note : overlayNote(one) || note),
    answer: told.json,
    warnings,
    changes,
  }
}

/** What the file says of it is the first value only (C-38). */
function overlayNote({ overlay }: FlowOfFile): string {
  return overlay === null ? '' : 'paused and skips count when it is created; now: millrace pause, resume, skip'
}

/** The API judges the spec and looks at the clusters; what it would do to what is there is compared here. */
async function wouldApply(api: ApiClient, one: FlowOfFile, { isCreateOnly }: How): Promise<Applied> {
  const before = await declaredNow(api, one.flow)
  refuseDeleting(before)
  if (before !== null && isCreateOnly) return nothing(one.flow, 'left', 'it is there')
  const changes = changesOf(before, one)
  if (before !== null && changes.length === 0) return nothing(one.flow, 'unchanged', overlayNote(one))
  const request: ApiRequest = {
    method: 'POST',
    path: apiPath('flows', one.flow, 'preview'),
    body: { kind: one.kind, spec: one.spec },
  }
  const told = await asItWasRead(api, request, `flow ${one.flow}`, one.where)
  const { units, topics, warnings } = told.json as {
    units: number | null
    topics: readonly { selected: boolean }[]
    warnings: Applied['warnings']
  }
  const selected = topics.filter(topic => topic.selected).length
  const note =
    units === null ? 'its clusters cannot be looked at now' : `${plural(selected, 'topic')}, ${plural(units, 'unit')}`
  const is = before === null ? 'would be created' : 'would be changed'
  const shown = before === null ? [] : changes
  return { ...nothing(one.flow, is, note), answer: told.json, warnings, changes: shown }
}

const partial = 10

/** Refused are some: 10; all: as the first would be alone. */
function resultOf(applied: readonly Applied[]): Said {
  const refused = applied.filter(one => one.error !== null)
  const notes = applied.flatMap(({ flow, warnings, error }) => [
    ...warnings.map(one => `${cell(flow)}: warning: ${cell(one.message)}${one.hint ? ` (${cell(one.hint)})` : ''}\n`),
    ...(error === null ? [] : [`${faultLines({ code: error.code, message: error.message, hint: error.hint })}\n`]),
  ])
  const [first] = refused
  const code = first === undefined ? 0 : refused.length < applied.length ? partial : exitCodeOf(first.error)
  return {
    json: JSON.stringify({ flows: applied.map(jsonOf) }),
    names: applied.filter(({ error }) => error === null).map(({ flow }) => flow),
    text: () => applied.map(textOf).join(''),
    ...(notes.length === 0 ? {} : { note: notes.join('') }),
    ...(code === 0 ? {} : { code }),
  }
}

function jsonOf({ flow, is, note, answer, error, changes }: Applied): unknown {
  const refused = error && { code: error.code, message: error.message, hint: error.hint }
  return { flow, is, note, changes, answer, error: refused }
}

function textOf({ flow, is, note, changes }: Applied): string {
  const shown = is === 'would be changed' ? changes : []
  return diffText({ flow, is: note === '' ? is : `${is} (${note})`, changes: shown })
}
