import { latencyBoundsMs } from '../limits.ts'
import type { Distribution } from '../ports/metrics.ts'

/** How long something took, each time, as a histogram in seconds. */
export type Timings = { note(ms: number): void; read(labels: Record<string, string>): Distribution }

export function timings(): Timings {
  const counts = latencyBoundsMs.map(() => 0)
  const bounds = latencyBoundsMs.map(ms => ms / 1_000)
  let sumMs = 0
  let count = 0
  return {
    note(ms) {
      sumMs += ms
      count++
      latencyBoundsMs.forEach((boundMs, i) => {
        if (ms <= boundMs) counts[i] = (counts[i] ?? 0) + 1
      })
    },
    read: labels => ({ labels, bounds, counts: [...counts], sum: sumMs / 1_000, count }),
  }
}
