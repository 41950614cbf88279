import { type Fault, faultOf, MillraceError } from '../errors.ts'
import { pause } from '../flow/pause.ts'
import { unlessAborted } from '../flow/unlessAborted.ts'
import { officeAgainMs } from '../limits.ts'
import type { Clock } from '../ports/clock.ts'
import type { Coordinator, Node, Op, Written } from '../ports/coordinator.ts'
import { nextEpoch } from './decide/assignment.ts'
import { readEpoch, writeEpoch } from './decide/documents/epoch.ts'
import { readHeld } from './decide/documents/held.ts'
import { paths } from './decide/documents/paths.ts'
import type { Lease } from './lease.ts'

/** What a leader has while it leads. */
export type Office = {
  readonly epoch: number
  /** There was no `/epoch`: the documents are new, or what was there was wiped (C-104). */
  readonly first: boolean
  /** Deposed, fenced, without a session, or stopped: nothing is begun any more. */
  readonly signal: AbortSignal
  readonly coordinator: Coordinator
  readonly sessionMs: number
  /** C-9. */
  answeredSinceMs(): number
  /** C-93: asked right before each chore and write. */
  mayWrite(): boolean
  /**
   * All or nothing, and only while no other has taken office (C-22): else it rejects with `deposed`, and `signal` is
   * aborted. The index of what was refused counts the operations given.
   */
  write(ops: readonly Op[]): Promise<Written>
}

export type OfficeHow = {
  coordinator: Coordinator
  id: string
  lease: Lease
  clock: Clock
  signal: AbortSignal
  /** The highest epoch that the store knows; null: no store. It rejects when it cannot be read. */
  store: { epoch(): Promise<number | null> } | null
  trouble(fault: Fault | null): void
}

/** Raises `/epoch` by compare-and-set (C-21). Null: another was faster, or it cannot be done now. */
export async function takeOffice(how: OfficeHow): Promise<Office | null> {
  const { coordinator, clock, signal } = how
  const there = await coordinator.read(paths.epoch)
  const known = there === null ? null : epochIn(there)
  const stored = await storedEpoch(how, known === null)
  if (stored === undefined) {
    await pause(clock, officeAgainMs, signal)
    return null
  }
  const epoch = nextEpoch(known, stored, await heldEpochs(coordinator))
  // Asked in the turn of the write: at the fence another may be in line.
  if (signal.aborted || how.lease.state() !== 'open') return null
  const data = writeEpoch({ epoch, leader: how.id, atMs: clock.wallMs() })
  const version = await raise(coordinator, there, data)
  return version === null ? null : officeOf(how, { epoch, version, first: there === null })
}

function epochIn({ data }: Node): number | null {
  try {
    return readEpoch(data, paths.epoch).epoch
  } catch (error) {
    // One that cannot be read is as none: the store and what is held tell.
    if (error instanceof MillraceError && error.code === 'state-corrupt') return null
    throw error
  }
}

/** Undefined: it must be known, for nothing else tells, and cannot be read now. */
async function storedEpoch(how: OfficeHow, isNeeded: boolean): Promise<number | null | undefined> {
  if (how.store === null) return null
  try {
    const epoch = await unlessAborted(how.store.epoch(), how.signal)
    how.trouble(null)
    return epoch
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error
    if (!isNeeded) return null
    how.trouble(faultOf(error, error.code))
    return undefined
  }
}

async function heldEpochs(coordinator: Coordinator): Promise<number[]> {
  const ids = await coordinator.children(paths.helds)
  const found = await Promise.all(
    ids.map(async id => {
      const node = await coordinator.read(paths.held(id))
      return node === null ? [] : heldEpoch(node.data, paths.held(id))
    }),
  )
  return found.flat()
}

function heldEpoch(text: string, path: string): number[] {
  try {
    return [readHeld(text, path).epoch]
  } catch (error) {
    if (error instanceof MillraceError) return []
    throw error
  }
}

/** The version of what we wrote; null: it is not ours. */
async function raise(coordinator: Coordinator, there: Node | null, data: string): Promise<number | null> {
  const path = paths.epoch
  try {
    const op: Op = there
      ? { do: 'set', path, data, version: there.version }
      : { do: 'create', path, data, mode: 'persistent' }
    const written = await coordinator.write([op])
    return written.done ? (written.versions[0] ?? null) : null
  } catch (error) {
    if (!(error instanceof MillraceError) || error.code !== 'outcome-unknown') throw error
    const now = await coordinator.read(path)
    return now?.data === data ? now.version : null
  }
}

function officeOf(
  { coordinator, lease, signal: outer }: OfficeHow,
  { epoch, version, first }: { epoch: number; version: number; first: boolean },
): Office {
  const deposed = new AbortController()
  const signal = AbortSignal.any([outer, deposed.signal])
  const check: Op = { do: 'check', path: paths.epoch, version }
  return {
    epoch,
    first,
    signal,
    coordinator,
    sessionMs: coordinator.state().timeoutMs,
    answeredSinceMs: lease.answeredSinceMs,
    mayWrite: () => !signal.aborted && lease.state() === 'open',
    async write(ops) {
      if (signal.aborted) throw noLonger(epoch, 'the office is over')
      const written = await coordinator.write([check, ...ops])
      if (written.done) return { done: true, paths: written.paths.slice(1), versions: written.versions.slice(1) }
      const { index, why } = written.refused
      if (index > 0) return { done: false, refused: { index: index - 1, why } }
      deposed.abort()
      throw noLonger(epoch, `${paths.epoch} is ${why}`)
    },
  }
}

function noLonger(epoch: number, why: string): MillraceError {
  return new MillraceError('deposed', `epoch ${epoch}: ${why}; nothing was written`)
}
