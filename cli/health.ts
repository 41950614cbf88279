import type { Copy } from '../engine/mirror/copy.ts'
import { mirrorMeasures } from '../engine/mirror/measures.ts'
import type { Clock } from '../engine/ports/clock.ts'
import type { Measure } from '../engine/ports/metrics.ts'
import { type Ready, startHttp } from '../engine/process/http.ts'

/** `/livez`, `/readyz` and `/metrics` of a running mirror, on a free loopback port (DESIGN §9). */
export function startHealth(
  copy: () => Copy | null,
  clock: Clock,
  more: readonly Measure[],
): ReturnType<typeof startHttp> {
  let text: (() => Promise<{ type: string; text: string }>) | null = null
  return startHttp({
    host: '127.0.0.1',
    port: 0,
    ready: () => readiness(copy()),
    metrics: async () => {
      const running = copy()
      if (!running) return { type: 'text/plain', text: '' }
      // Loaded when somebody asks: most mirrors on one machine are never scraped.
      const { metricsText } = await import('../engine/process/metrics.ts')
      text ??= metricsText([...mirrorMeasures(running, clock), ...more])
      return text()
    },
  })
}

/** Ready when both clusters were reached and not every partition is kept from its source or destination. */
function readiness(copy: Copy | null): Ready {
  if (!copy) return { ready: false, why: 'the clusters have not been reached yet' }
  const { topics, partitions, notRunning } = copy.report()
  if (partitions === 0 || notRunning < partitions) return { ready: true, why: null }
  const states = [...new Set(topics.map(topic => topic.state))].join(', ')
  return { ready: false, why: `no partition is running: ${states}` }
}
