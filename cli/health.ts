import type { Solo } from '../engine/fleet/solo.ts'
import { mirrorMeasures } from '../engine/mirror/measures.ts'
import type { MirrorWorker } from '../engine/mirror/worker.ts'
import type { Clock } from '../engine/ports/clock.ts'
import type { Measure } from '../engine/ports/metrics.ts'
import { type Ready, startHttp } from '../engine/process/http.ts'

/** `/livez`, `/readyz` and `/metrics` of a process that runs flows, on a free loopback port (DESIGN §9). */
export function startHealth(
  solo: () => Solo | null,
  clock: Clock,
  more: readonly Measure[],
): ReturnType<typeof startHttp> {
  let text: (() => Promise<{ type: string; text: string }>) | null = null
  const mirrors = () =>
    [...(solo()?.flows() ?? [])]
      .filter(({ kind }) => kind.kind === 'mirror')
      .map(({ flow, worker }) => ({ flow, worker: worker as MirrorWorker }))
  return startHttp({
    host: '127.0.0.1',
    port: 0,
    ready: () => readiness(solo()),
    metrics: async () => {
      // Loaded when somebody asks: most mirrors on one machine are never scraped.
      const { metricsText } = await import('../engine/process/metrics.ts')
      text ??= metricsText([...mirrorMeasures(mirrors, clock), ...more])
      return text()
    },
  })
}

/** Ready when every flow has seen its clusters, and not all of its partitions are kept from source or destination. */
function readiness(solo: Solo | null): Ready {
  if (!solo) return { ready: false, why: 'the clusters have not been reached yet' }
  for (const { flow, view, report } of solo.flows()) {
    if (view() === null) return { ready: false, why: `${flow}: the clusters have not been reached yet` }
    const { topics, partitions, notRunning } = report()
    const states = new Set(topics.map(topic => topic.state))
    // A flow that somebody has paused does what it should.
    if (partitions === 0 || notRunning < partitions || [...states].every(state => state === 'paused')) continue
    return { ready: false, why: `${flow}: no partition is running: ${[...states].join(', ')}` }
  }
  return { ready: true, why: null }
}
