import { garbageMs } from '../../limits.ts'
import type { Draft } from './roundDraft.ts'

/** Ids of processes that are gone for long: no node, no units and no news (C-36). */
export function garbageOf({ memory, nowMs }: Draft): string[] {
  const from = new Set([...memory.transit.values()].map(one => one.from))
  return [...memory.workers]
    .filter(([id, { node, assigned, held, heldFault, newsMs }]) => {
      if (node !== null || nowMs - newsMs < garbageMs || from.has(id) || heldFault) return false
      const empty =
        (assigned?.units.size ?? 0) === 0 && (held === null || held.units.size === 0 || held.state === 'left')
      return empty && (assigned !== null || held !== null)
    })
    .map(([id]) => id)
}
