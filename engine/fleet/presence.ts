import { type Fault, MillraceError } from '../errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { Coordinator, Node } from '../ports/coordinator.ts'
import { leaseTimes } from './decide/lease.ts'
import type { Lease } from './lease.ts'

export type Presence = {
  /** The document has changed: it is written now, which is a beat. */
  change(): void
  /** No further beat; nothing is told. */
  stop(): void
}

export type PresenceHow = {
  coordinator: Coordinator
  /** Of our own ephemeral document, which stands there at `version`. */
  path: string
  data: () => string
  version: number
  lease: Lease
  clock: Clock
  /** After each answered beat. */
  answered?: () => void
  /** The document or its session is gone; the last word. */
  lost(why: string): void
  /** It stands there as somebody else's; the last word. */
  taken(fault: Fault): void
  fatal(error: unknown): void
}

/** The beats of one process: a write of its own document each S/5, at its expected version (C-3). */
export function startPresence(how: PresenceHow): Presence {
  const { coordinator, path, lease, clock } = how
  const { beatMs, lookMs } = leaseTimes(coordinator.state().timeoutMs)
  const ended = new AbortController()
  let version = how.version
  let busy = false
  let again = false
  let cancel = clock.after(beatMs, beat)

  function end(tell: () => void): void {
    if (ended.signal.aborted) return
    stop()
    tell()
  }

  function stop(): void {
    ended.abort()
    cancel()
  }

  function beat(): void {
    again = busy
    if (busy || ended.signal.aborted) return
    cancel()
    busy = true
    void rounds().catch(error => end(() => how.fatal(error)))
  }

  async function rounds(): Promise<void> {
    let waitMs = 0
    do {
      again = false
      waitMs = await once()
    } while (again && !ended.signal.aborted)
    busy = false
    if (!ended.signal.aborted) cancel = clock.after(waitMs, beat)
  }

  /** Gives how long until the next. */
  async function once(): Promise<number> {
    const sent = lease.sent()
    try {
      const next = await coordinator.beat(path, how.data(), version)
      if (ended.signal.aborted) return 0
      version = next
      lease.answered(sent)
      how.answered?.()
      return Math.max(0, sent.atMs + beatMs - clock.nowMs())
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error
      if (error.code === 'session-lost') await readBack()
      return lookMs
    }
  }

  /** A beat of ours that was done and not answered has moved the version on (C-3). */
  async function readBack(): Promise<void> {
    if (coordinator.state().phase === 'lost') return end(() => how.lost('its session has ended'))
    const node = await readOr(coordinator, path)
    if (ended.signal.aborted || node === undefined) return
    if (node === null) return end(() => how.lost(`${path} is gone`))
    if (node.owner !== coordinator.state().session) return end(() => how.taken(idTaken(path, version, node)))
    // It lengthens nothing: only an answer does. A change that came meanwhile is still to be written.
    if (node.version !== version) again = true
    version = node.version
  }

  coordinator.changed(phase => {
    if (phase === 'lost') end(() => how.lost('its session has ended'))
    // After an outage the lease is short: the next beat does not wait for its turn (C-5).
    else if (phase === 'connected') beat()
  }, ended.signal)
  if (coordinator.state().phase === 'lost') queueMicrotask(() => end(() => how.lost('its session has ended')))

  return { change: beat, stop }
}

/** Undefined: it cannot be read now. */
async function readOr(coordinator: Coordinator, path: string): Promise<Node | null | undefined> {
  try {
    return await coordinator.read(path)
  } catch (error) {
    if (error instanceof MillraceError) return undefined
    throw error
  }
}

/** Two processes of one id: the document that stands there is another's. */
export function idTaken(path: string, ours: number | null, { data, version }: Node): Fault {
  const mine = ours === null ? '' : `; ours was at ${ours}`
  const message = `${path} is another process's, at version ${version}${mine}: ${data}`
  return { code: 'id-taken', message, hint: 'start this process anew: it gets a new id' }
}
