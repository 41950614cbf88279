import type { SteerContext } from '../flow/contract.ts'
import { noOverlay } from '../flow/overlay.ts'
import { previewOf, type TopicPreview } from './decide/previewOf.ts'
import { lookAtClusters } from './look.ts'
import type { MirrorSpec } from './spec.ts'

/** What a spec would select now, and where it would go (M-13). It looks at both clusters and changes nothing. */
export async function preview(spec: MirrorSpec, ctx: SteerContext, overlay = noOverlay): Promise<TopicPreview[]> {
  const look = await lookAtClusters(spec, { ...ctx, overlay }, null)
  const { flow, epoch, clock } = ctx
  const around = { flow, epoch, nowMs: clock.nowMs(), wallMs: clock.wallMs(), overlay }
  return previewOf(spec, { ...look, ...around, owned: new Set(), aside: new Map() })
}
