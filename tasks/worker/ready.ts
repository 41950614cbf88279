import type { FleetWorker } from '../../engine/fleet/worker.ts'
import type { Ready } from '../../engine/process/http.ts'

/** Ready when the fleet knows it, and it may act (C-64). */
export function readyOf(state: ReturnType<FleetWorker['state']> | null): Ready {
  if (state === null) return { ready: false, why: 'starting' }
  if (state.trouble) return { ready: false, why: `${state.trouble.code}: ${state.trouble.message}` }
  if (!state.registered) return { ready: false, why: 'it is not registered yet' }
  if (state.lease === 'fenced') return { ready: false, why: 'its lease is over: it does nothing until it is answered' }
  return { ready: true, why: null }
}
