import type { SoloFlow } from '../engine/fleet/soloFlow.ts'
import type { Ready } from '../engine/process/http.ts'

/** Ready when every flow has seen its clusters, and not all of its partitions are kept from source or destination. */
export function readiness(flows: Iterable<SoloFlow>): Ready {
  for (const { flow, view, report } of flows) {
    if (view() === null) return { ready: false, why: `${flow}: the clusters have not been reached yet` }
    const { topics, partitions, notRunning } = report()
    const states = new Set(topics.map(topic => topic.state))
    // A flow that somebody has paused does what it should.
    if (partitions === 0 || notRunning < partitions || [...states].every(state => state === 'paused')) continue
    return { ready: false, why: `${flow}: no partition is running: ${[...states].join(', ')}` }
  }
  return { ready: true, why: null }
}
