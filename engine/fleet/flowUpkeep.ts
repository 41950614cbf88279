import { faultOf, MillraceError } from '../errors.ts'
import type { FlowEvent } from '../flow/event.ts'
import { unitName } from '../flow/unitName.ts'
import type { Clock } from '../ports/clock.ts'
import type { Op } from '../ports/coordinator.ts'
import { type DeclaredFlow, declaredChanges, skipsPassed } from './decide/declared.ts'
import { type FlowDoc, writeFlow } from './decide/documents/flow.ts'
import { paths } from './decide/documents/paths.ts'
import type { Kinds } from './kinds.ts'
import type { LeaderFlows } from './leaderFlows.ts'
import type { Office } from './office.ts'

export type UpkeepHow = {
  office: Office
  kinds: Kinds
  clock: Clock
  flows: LeaderFlows
  declared(): ReadonlyMap<string, DeclaredFlow>
  tell(flow: string, event: FlowEvent): void
}

/**
 * What the leader writes of `/flows` (C-23): the flows of its file, skips that are passed, flows that are over. Each
 * write is by the version that was read: what people have changed meanwhile is read first.
 */
export function flowUpkeep(how: UpkeepHow): { look(): Promise<void> } {
  /** What was told last of a flow, so that it is told once. */
  const said = new Map<string, string>()

  function say(flow: string, event: FlowEvent): void {
    if (said.get(flow) !== event.message) how.tell(flow, event)
    said.set(flow, event.message)
  }

  return {
    async look() {
      const { flows } = how
      for (const [name, doc] of changesOf(how, say)) await put(how, name, doc, say)
      for (const [name, flow] of flows.flows()) {
        const node = flows.documents().get(name)
        if (!flow.state().over || !flow.state().doc?.deleting || !node) continue
        await write(how, name, { do: 'remove', path: paths.flow(name), version: node.version })
      }
    },
  }
}

type Say = (flow: string, event: FlowEvent) => void

function changesOf({ flows, declared, clock }: UpkeepHow, say: Say): Map<string, FlowDoc> {
  const docs = new Map<string, FlowDoc | null>()
  for (const name of flows.documents().keys()) {
    const state = flows.flows().get(name)?.state()
    docs.set(name, state && state.fault === null ? state.doc : null)
  }
  const { changes, foreign } = declaredChanges(declared(), docs, clock.wallMs())
  for (const flow of foreign) {
    const message = `${flow}: the file has a flow of this name, and there is one that was made otherwise: that one stays`
    say(flow, { code: 'conflict', message, hint: 'give one of the two another name' })
  }
  for (const [name, flow] of flows.flows()) {
    const { doc, view, kind } = flow.state()
    if (doc === null || view === null || !kind?.checkpoint || changes.has(name) || doc.overlay.skips.size === 0)
      continue
    const next = skipsPassed(doc, (topic, partition) => kind.checkpoint?.(view, unitName({ topic, partition })) ?? null)
    if (next) changes.set(name, next)
  }
  return changes
}

async function put(how: UpkeepHow, name: string, doc: FlowDoc, say: Say): Promise<void> {
  const node = how.flows.documents().get(name)
  try {
    refuse(how, name, doc)
    const data = writeFlow(doc)
    const path = paths.flow(name)
    if (node?.text === data) return
    const op: Op = node
      ? { do: 'set', path, data, version: node.version }
      : { do: 'create', path, data, mode: 'persistent' }
    await write(how, name, op)
  } catch (error) {
    if (error instanceof RangeError)
      return say(name, { code: 'config-invalid', message: `${name}: ${error.message}`, hint: 'write a whole number' })
    if (!(error instanceof MillraceError) || !['config-invalid', 'too-large'].includes(error.code)) throw error
    say(name, faultOf(error, error.code))
  }
}

/** A change that a running flow does not take is not written: the flow goes on as it is (M-20). */
function refuse({ kinds, flows }: UpkeepHow, name: string, doc: FlowDoc): void {
  const state = flows.flows().get(name)?.state()
  const entry = Object.hasOwn(kinds, doc.kind) ? kinds[doc.kind] : undefined
  const spec = entry?.readSpec(doc.spec)
  if (!entry || !state?.doc || state.doc.kind !== doc.kind || state.doc.overlay.paused === '*') return
  const fault = entry.kind.refuses(state.spec, spec)
  if (fault) throw new MillraceError('config-invalid', `${name}: ${fault.message}`, { hint: fault.hint })
}

async function write({ office, flows }: UpkeepHow, name: string, op: Op): Promise<void> {
  flows.dirty(name)
  if (office.mayWrite()) await office.write([op])
}
