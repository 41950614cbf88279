import { hasReached, type KnownWorker } from './memory.ts'
import { flowOf } from './observed.ts'
import { type Draft, documentOf, takeOut, withdraw } from './roundDraft.ts'
import { isWanted } from './wantedUnits.ts'

/** What leaves its worker without a plan: the dead, those who left, what has ended, what is not wanted any more. */
export function leavers(draft: Draft): void {
  for (const [id, worker] of draft.memory.workers) {
    const standing = draft.standings.get(id)
    if (standing === 'gone') {
      const reason = draft.dead.has(id) ? 'silent' : 'left'
      for (const unit of worker.assigned?.units ?? []) takeOut(draft, unit, id, reason)
      if (draft.dead.has(id)) {
        documentOf(draft, id)
        draft.notices.push({
          ...{ code: 'worker-ejected', worker: id, why: 'silent' },
          units: worker.assigned?.units.size ?? 0,
        })
      }
      continue
    }
    // A worker that is new here finds an empty document, so that it has something to accept (C-12).
    if (worker.node !== null && worker.assigned === null && !worker.broken) documentOf(draft, id)
    if (worker.broken) mend(draft, id, worker)
    endedOf(draft, id, worker)
    for (const unit of documentNow(draft, id)) {
      if (isWanted(draft.observed, unit)) continue
      withdraw(draft, unit, id, 'paused', id)
    }
  }
}

function documentNow(draft: Draft, id: string): readonly string[] {
  return [...(draft.next.get(id) ?? draft.memory.workers.get(id)?.assigned?.units ?? [])]
}

/** The document is written again: as we know it, else with what the worker reports and nobody else has (§10). */
function mend(draft: Draft, id: string, worker: KnownWorker): void {
  // Nobody can say what it runs: it keeps that.
  if (worker.assigned === null && worker.heldFault) return
  const units = documentOf(draft, id)
  if (worker.assigned !== null) return
  for (const unit of worker.held?.units ?? []) {
    if (draft.owners.has(unit)) continue
    units.add(unit)
    draft.owners.set(unit, id)
    draft.waiting.delete(unit)
  }
}

function endedOf(draft: Draft, id: string, worker: KnownWorker): void {
  const { held, heldFault, assigned, fresh } = worker
  if (held === null || heldFault || assigned === null) return
  const reached = hasReached(held, assigned)
  for (const unit of assigned.units) {
    if (held.units.has(unit) && (reached || fresh !== 'again')) continue
    // It begins nothing any more, so that this unit is free (C-60).
    if (held.state === 'stopping') takeOut(draft, unit, id, 'stopped')
    // A new life of the worker holds what it lists, if it has this document; else it may be about to take it (C-12).
    else if (fresh === 'again' || (fresh === 'first' && reached)) withdraw(draft, unit, id, 'again', id)
    else if (reached) {
      withdraw(draft, unit, id, 'ended', id)
      draft.ended.set(unit, draft.observed.flows.get(flowOf(unit))?.looksBegun ?? 0)
    }
  }
}
