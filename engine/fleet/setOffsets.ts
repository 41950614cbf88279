import { MillraceError } from '../errors.ts'
import type { AnyKind, OffsetChange, OffsetsWish, SteerContext, View } from '../flow/contract.ts'
import { partOf } from '../flow/unitName.ts'

/** A flow as the leader has it, or the one process. */
export type SteeredFlow = {
  readonly flow: string
  state(): { kind: AnyKind | null; spec: unknown; view: View<unknown> | null; context: SteerContext }
  reserving<T>(units: ReadonlySet<string>, work: () => Promise<T>): Promise<T>
}

/** What people ask of the positions of a flow (M-94). */
export type OffsetsRequest = {
  parts: '*' | ReadonlyMap<string, '*' | readonly number[]>
} & Omit<OffsetsWish, 'units'>

/** Done by the kind; meanwhile none of these units is given to anybody (C-95). */
export async function setOffsets(
  flow: SteeredFlow,
  request: OffsetsRequest,
  signal: AbortSignal,
): Promise<readonly OffsetChange[]> {
  const { kind, spec, view, context } = flow.state()
  if (!kind?.setOffsets) {
    throw new MillraceError('conflict', `${flow.flow}: offsets of a flow of this kind cannot be set`)
  }
  if (view === null) {
    const message = `${flow.flow}: nobody has been able to look at this flow yet`
    throw new MillraceError('conflict', message, { hint: 'see what the status of the flow says, and ask again' })
  }
  const units = new Set((kind.parts?.(spec, view) ?? []).filter(unit => isAsked(request, unit)))
  const ctx = { ...context, signal: AbortSignal.any([context.signal, signal]) }
  return await flow.reserving(
    units,
    async () => (await kind.setOffsets?.({ ...request, units }, spec, view, ctx)) ?? [],
  )
}

function isAsked({ parts }: OffsetsRequest, unit: string): boolean {
  if (parts === '*') return true
  const { topic, partition } = partOf(unit)
  const of = parts.get(topic)
  return of === '*' || (of?.includes(partition) ?? false)
}
