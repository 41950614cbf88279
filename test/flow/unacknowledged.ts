import type { Window } from '../../engine/flow/window.ts'

export function unacknowledged(window: Window): number {
  let count = 0
  for (let slot = window.head; slot !== null; slot = slot.later) if (!slot.acked) count++
  return count
}
