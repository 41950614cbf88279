import { type FlowDoc, type FlowOverlay, readFlow, writeFlow } from '../fleet/decide/documents/flow.ts'
import { paths } from '../fleet/decide/documents/paths.ts'
import { changedPaths } from './bodyPaths.ts'
import { overlayOut } from './flowView.ts'
import { noFlow, param } from './named.ts'
import { conflict } from './refusal.ts'
import type { Ask } from './route.ts'
import { flowPattern } from './words.ts'
import type { Changed } from './writer.ts'

/** A change of what people may change on any flow, of the file or not (C-38): a level, merged with what others write. */
export async function changeOverlay(
  ask: Ask,
  to: (overlay: FlowOverlay, doc: FlowDoc) => FlowOverlay | null,
): Promise<Changed<FlowDoc> & { flow: string }> {
  const flow = param(ask, 'flow')
  if (!flowPattern.test(flow)) throw noFlow(flow, await ask.seen.children(paths.flows))
  const among = await ask.seen.children(paths.flows)
  const changed = await ask.writer.change<FlowDoc>({
    path: paths.flow(flow),
    what: `flow ${flow}`,
    match: ask.match,
    read: readFlow,
    write: writeFlow,
    to(before, tag) {
      if (before === null) throw noFlow(flow, among)
      if (before.deleting) throw conflict(`flow ${flow} is being deleted`, 'wait until it is gone', tag)
      const overlay = to(before.overlay, before)
      return overlay && { ...before, overlay, changedBy: changedNow(ask) }
    },
  })
  noteFlow(ask, changed)
  return { ...changed, flow }
}

export function changedNow(ask: Pick<Ask, 'who' | 'parts'>): FlowDoc['changedBy'] {
  return { atMs: ask.parts.clock.wallMs(), by: `api:${ask.who.name}` }
}

/** For the audit (C-103). */
export function noteFlow(ask: Pick<Ask, 'note'>, { before, after }: Changed<FlowDoc>): void {
  const shape = (doc: FlowDoc | undefined) =>
    doc && { kind: doc.kind, spec: doc.spec, overlay: overlayOut(doc.overlay), deleting: doc.deleting }
  ask.note({
    before: before?.tag ?? null,
    after: after?.tag ?? null,
    changed: changedPaths(shape(before?.doc), shape(after?.doc)),
  })
}
