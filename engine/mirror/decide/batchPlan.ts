import type { BatchVerdict } from '../../batch/aborted.ts'
import { codecOf, control, type Header, logAppendTime, nextOffset } from '../../batch/header.ts'
import { joinedBatchBytesMax } from '../../limits.ts'
import type { MirrorSpec } from '../spec.ts'

export type SkipReason = 'below' | 'control' | 'aborted' | 'empty'
export type BatchPlan =
  | { do: 'skip'; why: SkipReason }
  | { do: 'recode'; why: 'position' | 'thin' | 'append-time' | 'codec' }
  | { do: 'split' }
  | { do: 'compress' }
  /** `small`: it may be joined with its neighbours (M-38). */
  | { do: 'raw'; small: boolean }

export type BatchFacts = {
  position: bigint
  /** M-33. */
  verdict: BatchVerdict
  compression: MirrorSpec['compression']
  /** The destination's known limit; null = not known. */
  bytesMax: number | null
}

/** What becomes of a batch: the first row of M-30 that fits. */
export function batchPlan(header: Header, { position, verdict, compression, bytesMax }: BatchFacts): BatchPlan {
  if (nextOffset(header) <= position) return { do: 'skip', why: 'below' }
  if (header.attributes & control) return { do: 'skip', why: 'control' }
  if (verdict === 'drop') return { do: 'skip', why: 'aborted' }
  if (header.recordsCount === 0) return { do: 'skip', why: 'empty' }
  if (header.baseOffset < position) return { do: 'recode', why: 'position' }
  if (header.recordsCount !== header.lastOffsetDelta + 1) return { do: 'recode', why: 'thin' }
  if (header.attributes & logAppendTime) return { do: 'recode', why: 'append-time' }
  const codec = codecOf(header.attributes)
  const other = compression !== 'keep' && codec !== compression
  if (other && codec !== 'none') return { do: 'recode', why: 'codec' }
  if (bytesMax !== null && header.bytes > bytesMax) return { do: 'split' }
  if (other) return { do: 'compress' }
  return { do: 'raw', small: header.bytes < joinedBatchBytesMax }
}
