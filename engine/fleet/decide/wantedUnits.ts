import { isPaused } from '../../flow/overlay.ts'
import { partOf } from '../../flow/unitName.ts'
import { flowOf, type Observed, type SeenFlow, withinFlow } from './observed.ts'

/** Whether a unit may stay where it is: its flow is there, yields it as far as that is known, and it is not paused (C-51). */
export function isWanted({ flows }: Observed, unit: string): boolean {
  const flow = flows.get(flowOf(unit))
  if (!flow || flow.deleting || isPausedUnit(flow, unit)) return false
  return flow.units === null || flow.units.has(unit)
}

export function isPausedUnit({ overlay }: SeenFlow, unit: string): boolean {
  const { topic, partition } = partOf(withinFlow(unit))
  return isPaused(overlay, topic, partition)
}
