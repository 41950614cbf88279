import type { Controller } from '../../engine/fleet/controller.ts'
import type { CoordinatorState } from '../../engine/ports/coordinator.ts'
import type { Ready } from '../../engine/process/http.ts'

/** Ready when it can read and write what people ask of the fleet, leading or not (C-101). */
export function readyOf(state: ReturnType<Controller['state']> | null, { phase }: CoordinatorState): Ready {
  if (state === null) return { ready: false, why: 'starting' }
  if (state.trouble) return { ready: false, why: `${state.trouble.code}: ${state.trouble.message}` }
  if (phase !== 'connected') return { ready: false, why: `coordination-unreachable: ${phase}` }
  return { ready: state.registered, why: state.registered ? null : 'it does not queue for the office yet' }
}
