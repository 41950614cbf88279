import { type Fault, MillraceError } from '../errors.ts'
import { pause } from '../flow/pause.ts'
import { backOffMs, heldAgainBackOff, heldGapMs } from '../limits.ts'
import type { Chance, Clock } from '../ports/clock.ts'
import type { Coordinator } from '../ports/coordinator.ts'
import type { HeldDoc } from './decide/documents/held.ts'
import { paths } from './decide/documents/paths.ts'
import { heldChunks } from './heldChunks.ts'
import { idTaken } from './presence.ts'

/** What is held, as it is now; when and in how many chunks is the writer's. */
export type HeldNow = Omit<HeldDoc, 'atMs' | 'chunks'>

export type Held = {
  /** Something of it has changed. */
  report(): void
  /** When what stands there is what is held now; rejects never, ends with the signal too. */
  written(): Promise<void>
}

export type HeldHow = {
  coordinator: Coordinator
  id: string
  /** As it was written at the registration. */
  version: number
  now(): HeldNow
  clock: Clock
  chance: Chance
  signal: AbortSignal
  lost(why: string): void
  taken(fault: Fault): void
  fatal(error: unknown): void
}

/** The report of what this worker may act on, at each change, at most one in 20 ms (C-43). */
export function startHeld(how: HeldHow): Held {
  const { clock, signal } = how
  const writer = heldWriter(how)
  let dirty = false
  let busy = false
  let hurry = new AbortController()
  let idle = Promise.withResolvers<void>()
  idle.resolve()

  function report(): void {
    dirty = true
    if (busy || signal.aborted) return
    busy = true
    idle = Promise.withResolvers<void>()
    void writes()
      .catch(how.fatal)
      .finally(() => {
        busy = false
        idle.resolve()
      })
  }

  async function writes(): Promise<void> {
    for (let failed = 0; dirty && !signal.aborted; ) {
      dirty = false
      // What changes in this turn goes in one write.
      await Promise.resolve()
      const isDone = await writer.write()
      if (!isDone) dirty = true
      failed = isDone ? 0 : failed + 1
      const ms = isDone ? heldGapMs : backOffMs(heldAgainBackOff, failed, how.chance)
      hurry = new AbortController()
      await pause(clock, ms, isDone ? signal : AbortSignal.any([signal, hurry.signal]))
    }
  }

  // After an outage the fleet waits for what we hold.
  how.coordinator.changed(phase => phase === 'connected' && hurry.abort(), signal)

  return { report, written: () => idle.promise }
}

/** `write` gives whether it stands there now. */
function heldWriter(how: HeldHow): { write(): Promise<boolean> } {
  const { coordinator, id, clock } = how
  const path = paths.held(id)
  const chunks = heldChunks(coordinator, id)
  let { version } = how
  /** A write of ours was not answered: the version may have moved on by us. */
  let unsure = false

  async function write(): Promise<boolean> {
    const doc = chunks.cut({ ...how.now(), atMs: clock.wallMs() })
    try {
      if (!(await chunks.write(doc))) return false
      const written = await coordinator.write([{ do: 'set', path, data: doc.head, version }])
      if (!written.done) return await refused()
      version = written.versions[0] ?? version + 1
      unsure = false
      await chunks.tidy(doc).catch(ourFault)
      return true
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error
      if (error.code === 'outcome-unknown') unsure = true
      return false
    }
  }

  /** Who has written it, or taken it away (C-43)? */
  async function refused(): Promise<boolean> {
    const [own, held] = await Promise.all([coordinator.read(paths.worker(id)), coordinator.read(path)])
    if (own === null) how.lost(`${paths.worker(id)} is gone`)
    else if (own.owner !== coordinator.state().session) how.taken(idTaken(paths.worker(id), null, own))
    else if (held === null) {
      const { head } = chunks.cut({ ...how.now(), atMs: clock.wallMs() })
      const made = await coordinator.write([{ do: 'create', path, data: head, mode: 'persistent' }])
      if (made.done) version = 0
    } else if (unsure) {
      version = held.version
      unsure = false
    } else if (held.version !== version) how.taken(idTaken(path, version, held))
    return false
  }

  return { write }
}

/** What is of no use may stay for now. */
function ourFault(error: unknown): void {
  if (!(error instanceof MillraceError)) throw error
}
