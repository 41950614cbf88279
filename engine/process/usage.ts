import type { Measure } from '../ports/metrics.ts'

/** What the process takes, by the names that Prometheus clients have for it. */
export const usageMeasures: readonly Measure[] = [
  {
    kind: 'counter',
    name: 'process_cpu_seconds_total',
    help: 'Processor time of the process, user and system.',
    read() {
      const { user, system } = process.cpuUsage()
      return [{ labels: {}, value: (user + system) / 1_000_000 }]
    },
  },
  {
    kind: 'gauge',
    name: 'process_resident_memory_bytes',
    help: 'Resident memory of the process.',
    read: () => [{ labels: {}, value: process.memoryUsage.rss() }],
  },
]
