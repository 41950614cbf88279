/** What one direction holds back, and when it may go: order kept, delay and rate by the clock that is handed in. */
import type { Faults } from './faults.ts'

export interface Line {
  /** What the held pieces take of memory. */
  readonly costBytes: number
  /** No byte = the half-close, late and in order like the rest. `luck` (0 ≤ x < 1) is its share of the jitter. */
  hold(bytes: Buffer, nowMs: number, luck: number): void
  /** The next piece that may go now; or how long to wait for it; null when nothing is held. */
  next(faults: Faults, nowMs: number): { slice: Buffer } | { waitMs: number } | null
  /** The rate starts anew. */
  restart(): void
  clear(): void
}

interface Held {
  bytes: Buffer
  arrivedMs: number
  /** Kept with the piece, so that a change of faults does not draw again. */
  luck: number
}

/** A rate is kept by slices of so many milliseconds: small enough to look like a slow line, not like a late one. */
const sliceMs = 20
/** What a piece costs beside its bytes: a million pieces of one byte must not pass for one megabyte. */
const pieceCostBytes = 256

export function line(): Line {
  const held: Held[] = []
  let costBytes = 0
  let freeAtMs = 0

  /** Takes from the first piece as much as may go in one write. */
  function take(first: Held, rate: number | undefined): Buffer {
    const sliceBytes = rate ? Math.max(1, Math.floor((rate * sliceMs) / 1000)) : first.bytes.length
    const slice = first.bytes.subarray(0, sliceBytes)
    costBytes -= slice.length
    if (slice.length < first.bytes.length) {
      first.bytes = first.bytes.subarray(sliceBytes)
    } else {
      held.shift()
      costBytes -= pieceCostBytes
    }
    return slice
  }

  return {
    get costBytes() {
      return costBytes
    },
    hold(bytes, arrivedMs, luck) {
      held.push({ bytes, arrivedMs, luck })
      costBytes += bytes.length + pieceCostBytes
    },
    next(faults, nowMs) {
      const [first] = held
      if (!first) return null
      const dueMs = first.arrivedMs + (faults.latencyMs ?? 0) + (faults.jitterMs ?? 0) * first.luck
      const waitMs = Math.max(dueMs, freeAtMs) - nowMs
      if (waitMs > 0) return { waitMs }
      const slice = take(first, faults.bytesPerSecond)
      if (faults.bytesPerSecond) {
        // A timer that fires late is made good, by one slice at most: after silence there is no burst.
        freeAtMs = Math.max(freeAtMs, nowMs - sliceMs) + (slice.length / faults.bytesPerSecond) * 1000
      }
      return { slice }
    },
    restart() {
      freeAtMs = 0
    },
    clear() {
      held.length = 0
      costBytes = 0
    },
  }
}
