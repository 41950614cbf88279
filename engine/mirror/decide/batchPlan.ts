import type { BatchVerdict } from '../../batch/aborted.ts'
import { control, type Header, logAppendTime, nextOffset } from '../../batch/header.ts'

export type SkipReason = 'below' | 'control' | 'aborted' | 'empty'
export type BatchPlan =
  | { do: 'skip'; why: SkipReason }
  | { do: 'recode'; why: 'position' | 'thin' | 'append-time' }
  | { do: 'raw' }

/** What becomes of a batch: the first row of M-30 that fits (rows 1 to 7 and 12). `verdict`: M-33. */
export function batchPlan(header: Header, facts: { position: bigint; verdict: BatchVerdict }): BatchPlan {
  if (nextOffset(header) <= facts.position) return { do: 'skip', why: 'below' }
  if (header.attributes & control) return { do: 'skip', why: 'control' }
  if (facts.verdict === 'drop') return { do: 'skip', why: 'aborted' }
  if (header.recordsCount === 0) return { do: 'skip', why: 'empty' }
  if (header.baseOffset < facts.position) return { do: 'recode', why: 'position' }
  if (header.recordsCount !== header.lastOffsetDelta + 1) return { do: 'recode', why: 'thin' }
  if (header.attributes & logAppendTime) return { do: 'recode', why: 'append-time' }
  return { do: 'raw' }
}
