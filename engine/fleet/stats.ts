import { MillraceError } from '../errors.ts'
import { every } from '../flow/every.ts'
import { statsMs } from '../limits.ts'
import type { Clock } from '../ports/clock.ts'
import type { Coordinator } from '../ports/coordinator.ts'
import { paths } from './decide/documents/paths.ts'
import { type UnitStats, writeStats } from './decide/documents/stats.ts'

/** Writes each 10 s what this worker measures of its units (C-30); one that cannot be written is left out. */
export function startStats(how: {
  coordinator: Coordinator
  id: string
  clock: Clock
  signal: AbortSignal
  now(): ReadonlyMap<string, UnitStats>
  fatal(error: unknown): void
}): void {
  const { coordinator, id, clock, signal } = how
  const path = paths.stats(id)
  let busy = false

  async function write(): Promise<void> {
    const data = writeStats({ atMs: clock.wallMs(), of: how.now() })
    const written = await coordinator.write([{ do: 'set', path, data, version: null }])
    if (!written.done) await coordinator.write([{ do: 'create', path, data, mode: 'persistent' }])
  }

  const cancel = every(clock, statsMs, () => {
    if (busy || coordinator.state().phase !== 'connected') return
    busy = true
    void write()
      .catch(error => error instanceof MillraceError || how.fatal(error))
      .finally(() => {
        busy = false
      })
  })
  if (signal.aborted) cancel()
  else signal.addEventListener('abort', cancel, { once: true })
}
