import { stopDeadlineMs, withdrawEjectMs, withdrawMs } from '../../limits.ts'
import type { KnownWorker } from './memory.ts'
import type { Notice } from './reconcile.ts'
import type { Draft } from './roundDraft.ts'

/** Workers that beat and do not let go (C-47): named after 30 s, ejected after 60 s when another can take the units. */
export function slowOnes(draft: Draft): {
  ejects: { id: string; version: number }[]
  notices: Notice[]
  slowSaid: ReadonlySet<string>
} {
  const ejects: { id: string; version: number }[] = []
  const notices: Notice[] = []
  const slowSaid = new Set<string>()
  for (const [id, held] of heldOn(draft)) {
    const worker = draft.memory.workers.get(id)
    if (!worker || worker.node === null || draft.dead.has(id)) continue
    const forMs = draft.nowMs - held.sinceMs
    if (forMs < withdrawMs) continue
    slowSaid.add(id)
    if (!worker.slowSaid) notices.push({ code: 'release-slow', worker: id, units: held.units, forMs })
    const isOver = forMs >= (worker.stoppingMs === null ? withdrawEjectMs : stopDeadlineMs)
    if (!isOver || !canBeTaken(draft, id)) continue
    ejects.push({ id, version: worker.node.version })
    notices.push({ code: 'worker-ejected', worker: id, units: held.units.length, why: 'release-slow' })
  }
  return { ejects, notices, slowSaid }
}

/** By worker the units that it should have let go, and since when. */
function heldOn({ memory }: Draft): Map<string, { units: string[]; sinceMs: number }> {
  const found = new Map<string, { units: string[]; sinceMs: number }>()
  for (const [unit, { from, sinceMs }] of memory.transit) {
    const at = memory.workers.get(from)?.stoppingMs ?? sinceMs
    const one = found.get(from) ?? { units: [], sinceMs: at }
    one.units.push(unit)
    one.sinceMs = Math.min(one.sinceMs, at)
    found.set(from, one)
  }
  for (const [id, worker] of memory.workers) {
    if (worker.stoppingMs === null || found.has(id)) continue
    const units = unitsOn(worker)
    if (units.length > 0) found.set(id, { units, sinceMs: worker.stoppingMs })
  }
  return found
}

function unitsOn({ assigned, held }: KnownWorker): string[] {
  return [...(held?.units ?? assigned?.units ?? [])]
}

function canBeTaken({ standings }: Draft, id: string): boolean {
  for (const [other, standing] of standings) if (other !== id && standing === 'ready') return true
  return false
}
