import type { TopicId } from '../../ports/kafka.ts'

/** What stands beside a committed offset (MIRROR §3.1). */
export type CheckpointMetadata = {
  sourceId: TopicId
  destinationId: TopicId
  epoch: number
  /** The destination's offset after what was acknowledged last; null = not known. */
  destinationNext: bigint | null
  /** When somebody has put it there (M-94), ms since 1970; null = a flow did. */
  setMs: number | null
}

/** Keys in this order. A start, before which nothing was read or written, has the ids only. */
export function checkpointText(of: Omit<CheckpointMetadata, 'setMs'> & { setMs?: number }): string {
  const epoch = of.epoch < 0 ? '' : `,"e":${of.epoch}`
  const next = of.destinationNext === null ? '' : `,"d":${of.destinationNext}`
  const set = of.setMs === undefined ? '' : `,"set":${of.setMs}`
  return `{"v":1,"t":"${of.sourceId}","u":"${of.destinationId}"${epoch}${next}${set}}`
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
  const { v, t, u, e, d, set } = found
  if (v !== 1 || typeof t !== 'string' || typeof u !== 'string') return null
  return {
    sourceId: t,
    destinationId: u,
    epoch: typeof e === 'number' && Number.isInteger(e) ? e : -1,
    destinationNext: typeof d === 'number' && Number.isSafeInteger(d) ? BigInt(d) : null,
    setMs: typeof set === 'number' && Number.isSafeInteger(set) ? set : null,
  }
}
