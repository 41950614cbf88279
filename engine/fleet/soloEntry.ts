import { type Fault, faultOf, MillraceError } from '../errors.ts'
import type { FlowEvent } from '../flow/event.ts'
import { tagsMissing } from '../flow/tagsMissing.ts'
import { isLeft } from './decide/declared.ts'
import { type FlowDoc, overlayOf, readFlow } from './decide/documents/flow.ts'
import { paths } from './decide/documents/paths.ts'
import type { Kinds } from './kinds.ts'
import { requiresIn } from './leaderFlow.ts'
import type { FlowNode } from './leaderFlows.ts'
import type { FlowPlan } from './soloFlow.ts'

/** A flow of `/flows` as the one process takes it. */
export type SoloEntry = {
  node: FlowNode
  /** The last that could be read. */
  doc: FlowDoc | null
  /** Null: it does not run here. */
  plan: FlowPlan | null
  /** Tags that it requires and this process does not have (C-96). */
  missing: readonly string[]
  /** Why the document that stands there is not taken: what ran before runs on. */
  fault: Fault | null
  /** Ends what is watched of it. */
  gone: AbortController
}

export type EntryHow = { kinds: Kinds; tags: readonly string[]; tell(flow: string, event: FlowEvent): void }

/** Takes a document that was read; one that cannot be is told once, and changes nothing (§10). */
export function takeNode(entry: SoloEntry, flow: string, node: FlowNode, how: EntryHow): void {
  const isSame = entry.node.tag === node.tag
  entry.node = node
  if (isSame) return
  try {
    const doc = readFlow(node.text, paths.flow(flow))
    const { plan, missing } = planOf(flow, doc, how)
    Object.assign(entry, { doc, plan, missing, fault: null })
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error
    entry.fault = faultOf(error, error.code)
    how.tell(flow, { ...entry.fault, state: 'error' })
  }
}

export function planOf(
  flow: string,
  doc: FlowDoc,
  { kinds, tags }: Pick<EntryHow, 'kinds' | 'tags'>,
): { plan: FlowPlan | null; missing: readonly string[] } {
  const entry = Object.hasOwn(kinds, doc.kind) ? kinds[doc.kind] : undefined
  if (!entry) {
    const hint = 'start a version of this process that has it'
    throw new MillraceError('config-invalid', `${flow}: there is no kind '${doc.kind}'`, { hint })
  }
  const missing = tagsMissing({ requires: requiresIn(doc.spec) }, tags)
  const plan = { kind: entry.kind, spec: entry.readSpec(doc.spec), overlay: overlayOf(doc), deleting: doc.deleting }
  // What has to be done before it may go is done here, whoever could have run it.
  return { plan: !doc.deleting && (isLeft(doc) || missing.length > 0) ? null : plan, missing }
}
