import type { TopicId } from '../../ports/kafka.ts'

/** What stands beside a committed offset (MIRROR §3.1). */
export type CheckpointMetadata = {
  sourceId: TopicId
  destinationId: TopicId
  epoch: number
  /** The destination's offset after what was acknowledged last; null = not known. */
  destinationNext: bigint | null
}

/** Keys in this order. A start that nothing was copied from yet has the ids only. */
export function checkpointText(of: CheckpointMetadata): string {
  const start = `{"v":1,"t":"${of.sourceId}","u":"${of.destinationId}"`
  if (of.destinationNext === null) return `${start},"e":${of.epoch}}`
  return `${start},"e":${of.epoch},"d":${of.destinationNext}}`
}

/** Null: not ours, as if there were none. */
export function checkpointFrom(text: string): CheckpointMetadata | null {
  let found: Record<string, unknown>
  try {
    const parsed: unknown = JSON.parse(text)
    if (typeof parsed !== 'object' || parsed === null) return null
    found = parsed as Record<string, unknown>
  } catch {
    return null
  }
  const { v, t, u, e, d } = found
  if (v !== 1 || typeof t !== 'string' || typeof u !== 'string') return null
  return {
    sourceId: t,
    destinationId: u,
    epoch: typeof e === 'number' && Number.isInteger(e) ? e : -1,
    destinationNext: typeof d === 'number' && Number.isSafeInteger(d) ? BigInt(d) : null,
  }
}
