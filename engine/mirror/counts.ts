import { latencyBoundsMs } from '../limits.ts'

/** How a batch was passed on (M-30). */
export const batchPaths = ['raw', 'recode', 'split', 'join', 'compress'] as const
export type BatchPath = (typeof batchPaths)[number]

/** What is counted of one partition (M-96), as plain numbers: the data path adds, whoever shows them reads. */
export type PartitionCounts = {
  /** Records and batch bytes that the destination has acknowledged. */
  records: number
  bytes: number
  batches: Record<BatchPath, number>
  skippedAborted: number
  /** Left out because somebody said so (M-94). */
  skippedOperator: number
  gapRecords: number
  replacedRecords: number
  /** Of the source's last answer; null = none yet. */
  logStart: bigint | null
  lastStable: bigint | null
  end: bigint | null
  /** The newest record time of the last acknowledged batch, ms since 1970, and how old it was then. */
  newestMs: number | null
  recordAgeMs: number | null
}

export function partitionCounts(): PartitionCounts {
  return {
    records: 0,
    bytes: 0,
    batches: { raw: 0, recode: 0, split: 0, join: 0, compress: 0 },
    skippedAborted: 0,
    skippedOperator: 0,
    gapRecords: 0,
    replacedRecords: 0,
    logStart: null,
    lastStable: null,
    end: null,
    newestMs: null,
    recordAgeMs: null,
  }
}

/** From the answer of the source to the acknowledgement of the destination, of a whole flow. */
export type Latency = { counts: number[]; sumMs: number; count: number }

export function latency(): Latency {
  return { counts: latencyBoundsMs.map(() => 0), sumMs: 0, count: 0 }
}

/** Each bound counts what is not above it, as Prometheus wants it. */
export function noteLatency(latency: Latency, ms: number): void {
  latency.count++
  latency.sumMs += ms
  for (let i = latencyBoundsMs.length - 1; i >= 0 && ms <= (latencyBoundsMs[i] as number); i--) {
    latency.counts[i] = (latency.counts[i] as number) + 1
  }
}
