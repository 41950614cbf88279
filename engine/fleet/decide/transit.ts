import { hasReached, type KnownWorker, type Memory, type Transit } from './memory.ts'

/** Nothing else frees a unit: no time-out, no operator, no missing report (C-42). */
export function isFreed(unit: string, { at }: Transit, worker: KnownWorker): boolean {
  const { held, heldFault } = worker
  if (held === null || heldFault) return false
  if (held.state === 'left') return true
  if (held.units.has(unit)) return false
  // One that stops begins nothing any more, whatever it has accepted (C-60).
  return held.state === 'stopping' || hasReached(held, at)
}

/** Units that a worker reports and that do not stand in its document: it still stops them (C-42). */
export function strays(workers: Memory['workers'], owners: ReadonlyMap<string, string>): Map<string, string> {
  const found = new Map<string, string>()
  for (const [id, { held }] of workers) {
    if (held === null || held.state === 'left') continue
    for (const unit of held.units) if (owners.get(unit) !== id) found.set(unit, id)
  }
  return found
}

/** A worker that may hold any unit which stood in no document when this leader came; null: none. */
export function unreached(workers: Memory['workers']): string | null {
  for (const [id, { adopted, held, heldFault }] of workers) {
    if (adopted !== null && held?.state !== 'left' && (heldFault || !hasReached(held, adopted))) return id
  }
  return null
}
