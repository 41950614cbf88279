import { type Fault, faultOf, MillraceError } from '../errors.ts'
import { pause } from '../flow/pause.ts'
import { unlessAborted } from '../flow/unlessAborted.ts'
import { backOffMs, unitBackOff } from '../limits.ts'
import type { Chance, Clock } from '../ports/clock.ts'
import type { Coordinator, Op } from '../ports/coordinator.ts'
import { nextEpoch } from './decide/assignment.ts'
import { writeEpoch } from './decide/documents/epoch.ts'
import { paths, roots } from './decide/documents/paths.ts'
import type { Remembered } from './remembered.ts'

export type SoloOfficeHow = {
  coordinator: Coordinator | Remembered
  id: string
  clock: Clock
  chance: Chance
  stop: AbortSignal
  /** What it waits for; null: nothing any more. */
  trouble(fault: Fault | null): void
}

/**
 * What one process does before its first chore (C-96): its documents are there again, and it has an epoch above every
 * one that the store has seen. A store that is away or full is waited for; null: stopped meanwhile. Rejects with what
 * no waiting mends.
 */
export async function takeSoloOffice(how: SoloOfficeHow): Promise<number | null> {
  const { clock, chance, stop } = how
  for (let tries = 1; !stop.aborted; tries++) {
    try {
      const epoch = await unlessAborted(taken(how), stop)
      how.trouble(null)
      return epoch
    } catch (error) {
      if (stop.aborted) break
      if (!(error instanceof MillraceError) || !error.retryable) throw error
      how.trouble(faultOf(error, error.code))
      await pause(clock, backOffMs(unitBackOff, tries, chance), stop)
    }
  }
  return null
}

async function taken({ coordinator, id, clock }: SoloOfficeHow): Promise<number> {
  const stored = 'restore' in coordinator ? await coordinator.restore() : null
  for (const path of roots) {
    // Not one of them is kept by the store: they are as they were left, or not there.
    const op: Op = { do: 'create', path, data: '', mode: 'persistent' }
    await coordinator.write([op])
  }
  const epoch = nextEpoch(null, stored, [])
  const data = writeEpoch({ epoch, leader: id, atMs: clock.wallMs() })
  const there = await coordinator.read(paths.epoch)
  const op: Op = there
    ? { do: 'set', path: paths.epoch, data, version: there.version }
    : { do: 'create', path: paths.epoch, data, mode: 'persistent' }
  const written = await coordinator.write([op])
  if (!written.done) throw new MillraceError('state-corrupt', `${paths.epoch}: ${written.refused.why} in memory`)
  return epoch
}
