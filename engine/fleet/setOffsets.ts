import { MillraceError } from '../errors.ts'
import type { AnyKind, OffsetChange, OffsetsWish, SteerContext, View } from '../flow/contract.ts'
import { nearest } from '../flow/nearest.ts'
import { pause } from '../flow/pause.ts'
import { partOf, unitName } from '../flow/unitName.ts'
import { offsetsFreeAgainMs, offsetsFreeMs } from '../limits.ts'

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
  const all = kind.parts?.(spec, view) ?? []
  refuseUnknown(flow.flow, all, request)
  const units = new Set(all.filter(unit => isAsked(request, unit)))
  const ctx = { ...context, signal: AbortSignal.any([context.signal, signal]) }
  return await whenFree(
    flow,
    units,
    ctx,
    async () => (await kind.setOffsets?.({ ...request, units }, spec, view, ctx)) ?? [],
  )
}

/** An action of the flow that is under way is over in a moment: nobody has to ask again for it. */
async function whenFree<T>(
  flow: SteeredFlow,
  units: ReadonlySet<string>,
  { clock, signal }: SteerContext,
  work: () => Promise<T>,
): Promise<T> {
  const untilMs = clock.nowMs() + offsetsFreeMs
  for (;;) {
    let begun = false
    try {
      return await flow.reserving(units, () => {
        begun = true
        return work()
      })
    } catch (error) {
      const isLate = begun || signal.aborted || clock.nowMs() >= untilMs
      if (isLate || !(error instanceof MillraceError) || error.code !== 'conflict') throw error
    }
    await pause(clock, offsetsFreeAgainMs, signal)
  }
}

/** What is named and not there is a slip of the pen: nothing is set then. */
function refuseUnknown(flow: string, all: readonly string[], { parts }: OffsetsRequest): void {
  if (parts === '*') return
  const units = new Set(all)
  const topics = new Set(all.map(unit => partOf(unit).topic))
  for (const [topic, of] of parts) {
    const unknown = of === '*' ? null : of.find(partition => !units.has(unitName({ topic, partition })))
    if (topics.has(topic) && (unknown === null || unknown === undefined)) continue
    const message = topics.has(topic)
      ? `flow ${flow}: ${topic} has no partition ${unknown}`
      : `flow ${flow}: it has no topic '${topic}'`
    const near = topics.has(topic) ? null : nearest(topic, topics)
    throw new MillraceError('not-found', message, { hint: near === null ? null : `near it: ${near}` })
  }
}

function isAsked({ parts }: OffsetsRequest, unit: string): boolean {
  if (parts === '*') return true
  const { topic, partition } = partOf(unit)
  const of = parts.get(topic)
  return of === '*' || (of?.includes(partition) ?? false)
}
