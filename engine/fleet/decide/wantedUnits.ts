import { isPausedUnit } from '../../flow/overlay.ts'
import { flowOf, type Observed, type SeenFlow, withinFlow } from './observed.ts'

/** Whether a unit may stay where it is: its flow is there, yields it as far as that is known, and it is not paused (C-51). */
export function isWanted({ flows }: Observed, unit: string): boolean {
  const flow = flows.get(flowOf(unit))
  if (!flow || flow.deleting || isPausedIn(flow, unit)) return false
  return flow.units === null || flow.units.has(unit)
}

/** `unit`: by its whole name. */
export function isPausedIn({ overlay }: SeenFlow, unit: string): boolean {
  return isPausedUnit(overlay, withinFlow(unit))
}
