import { type Fault, faultOf, MillraceError } from '../errors.ts'
import type { AnyKind, View } from '../flow/contract.ts'
import type { FlowEvent } from '../flow/event.ts'
import { refuseTooLarge } from '../flow/refuseTooLarge.ts'
import { unitName } from '../flow/unitName.ts'
import { writeBytesMax, writeOpsMax } from '../limits.ts'
import type { Clock } from '../ports/clock.ts'
import type { Op } from '../ports/coordinator.ts'
import { type DeclaredFlow, declaredChanges, hasLeft, skipsPassed } from './decide/declared.ts'
import { type FlowDoc, writeFlow } from './decide/documents/flow.ts'
import { paths } from './decide/documents/paths.ts'
import type { KindEntry, Kinds } from './kinds.ts'
import type { FlowNode } from './leaderFlows.ts'
import type { Office } from './office.ts'

/** The flows of `/flows`, as whoever writes them knows them. */
export type KeptFlows = {
  flows(): ReadonlyMap<string, { state(): KeptFlow }>
  documents(): ReadonlyMap<string, FlowNode>
  /** This document was written by us: it is read again. */
  dirty(flow: string): void
}
export type KeptFlow = {
  doc: FlowDoc | null
  fault: Fault | null
  kind: AnyKind | null
  spec: unknown
  view: View<unknown> | null
  over: boolean
}

export type UpkeepHow = {
  office: Pick<Office, 'mayWrite' | 'write'>
  kinds: Kinds
  clock: Clock
  flows: KeptFlows
  /** What runs now and does not take that change (M-20); without it the document tells. */
  refuses?(flow: string, doc: FlowDoc): Fault | null
  declared(): ReadonlyMap<string, DeclaredFlow>
  tell(flow: string, event: FlowEvent): void
}

/**
 * What the leader writes of `/flows` (C-23): the flows of its file, skips that are passed, flows that are over. Each
 * write is by the version that was read: what people have changed meanwhile is read first. An edit of the file is one
 * write, as far as one takes it all.
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
      const { flows, office } = how
      const writes: Write[] = []
      const changes = changesOf(how, say)
      for (const [flow, doc] of changes) writes.push(...writeOf(how, flow, doc, say))
      for (const [flow, { state }] of flows.flows()) {
        const node = flows.documents().get(flow)
        const { over, doc } = state()
        if (!over || !doc?.deleting || !node) continue
        writes.push({ flow, op: { do: 'remove', path: paths.flow(flow), version: node.version } })
      }
      for (const some of packed(writes)) {
        for (const { flow } of some) flows.dirty(flow)
        if (!office.mayWrite()) continue
        await office.write(some.map(({ op }) => op))
        for (const { flow } of some) {
          const doc = changes.get(flow)
          if (doc && hasLeft(doc)) say(flow, leftFile(flow))
        }
      }
    },
  }
}

type Write = { flow: string; op: Op }

type Say = (flow: string, event: FlowEvent) => void

/** What stops for an edit is told: somebody may have edited another file than he meant. */
function leftFile(flow: string): FlowEvent {
  const hint = `put back into the file it goes on; millrace delete ${flow} ends it`
  return { code: 'left-file', message: 'the file does not have this flow any more: it is paused', hint }
}

function changesOf({ flows, declared, clock }: UpkeepHow, say: Say): Map<string, FlowDoc> {
  const docs = new Map<string, FlowDoc | null>()
  for (const name of flows.documents().keys()) {
    const state = flows.flows().get(name)?.state()
    docs.set(name, state && state.fault === null ? state.doc : null)
  }
  const { changes, foreign } = declaredChanges(declared(), docs, clock.wallMs())
  for (const flow of foreign) {
    const message = 'the file has a flow of this name, and there is one that was made otherwise: that one stays'
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

/** None where it says so already, or where it may not be written: that is told. */
function writeOf(how: UpkeepHow, flow: string, doc: FlowDoc, say: Say): Write[] {
  const node = how.flows.documents().get(flow)
  try {
    refuse(how, flow, doc)
    const data = writeFlow(doc)
    const path = paths.flow(flow)
    if (node?.text === data) return []
    const op: Op = node
      ? { do: 'set', path, data, version: node.version }
      : { do: 'create', path, data, mode: 'persistent' }
    refuseTooLarge([op])
    return [{ flow, op }]
  } catch (error) {
    if (error instanceof RangeError)
      say(flow, { code: 'config-invalid', message: `${flow}: ${error.message}`, hint: 'write a whole number' })
    else if (error instanceof MillraceError && ['config-invalid', 'too-large'].includes(error.code))
      say(flow, faultOf(error, error.code))
    else throw error
    return []
  }
}

/** A change that a running flow does not take is not written: the flow goes on as it is (M-20). */
function refuse(how: UpkeepHow, flow: string, doc: FlowDoc): void {
  const entry = Object.hasOwn(how.kinds, doc.kind) ? how.kinds[doc.kind] : undefined
  const spec = entry?.readSpec(doc.spec)
  const fault = how.refuses ? how.refuses(flow, doc) : entry ? refusedBy(how, flow, { doc, entry, spec }) : null
  if (fault) throw new MillraceError('config-invalid', `${flow}: ${fault.message}`, { hint: fault.hint })
}

function refusedBy(
  { flows }: UpkeepHow,
  flow: string,
  { doc, entry, spec }: { doc: FlowDoc; entry: KindEntry; spec: unknown },
): Fault | null {
  const state = flows.flows().get(flow)?.state()
  if (!state?.doc || state.doc.kind !== doc.kind || state.doc.overlay.paused === '*') return null
  return entry.kind.refuses(state.spec, spec)
}

/** In writes that a coordinator takes (C-33). */
function packed(writes: readonly Write[]): Write[][] {
  const packs: Write[][] = []
  let bytes = 0
  for (const write of writes) {
    const more = 'data' in write.op ? new TextEncoder().encode(write.op.data).length : 0
    const last = packs.at(-1)
    if (last && last.length < writeOpsMax && bytes + more <= writeBytesMax) last.push(write)
    else {
      packs.push([write])
      bytes = 0
    }
    bytes += more
  }
  return packs
}
