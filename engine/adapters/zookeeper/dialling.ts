import type { Fault } from '../../errors.ts'
import { backOffMs, coordinationBackOff, coordinationDialMs, unitBackOff } from '../../limits.ts'
import type { Chance, Clock } from '../../ports/clock.ts'
import type { Server } from './decide/connectString.ts'
import { serverName, troubleOf } from './decide/trouble.ts'

export type Dialling = {
  /** Calls `go` with the server whose turn it is, at once or after the back-off, and `late` when that took too long. */
  next(go: (server: Server) => void, late: (ms: number) => void): void
  /** Session and login are answered. */
  answered(): void
  /** The server serves us: the next loss is a new story. */
  proven(): void
  /** Why the connection ends; the first to say so knows best. */
  note(why: string): void
  deny(fault: Fault): void
  /** What it was denied for may have changed: no longer wait. */
  hurry(): void
  /** The connection, or the try, has ended. */
  ended(): void
  trouble(): Fault
  stop(): void
}

/**
 * Which server is dialled when (C-74): all of them in turn, from a random one, without a pause within a round. A server
 * that never answers is left after a second, and after some more in later rounds: a slow one would else never be used.
 */
export function dialling(how: {
  servers: readonly Server[]
  sessionMs: number
  clock: Clock
  chance: Chance
}): Dialling {
  const { servers, clock, chance } = how
  const said = new Map<string, string>()
  let turn = Math.floor(chance() * servers.length)
  let server: Server | null = null
  let failures = 0
  let denials = 0
  let denied: Fault | null = null
  let noted: string | null = null
  let sinceMs: number | null = clock.nowMs()
  let cancel = () => {}
  /** The dial that waits for its time. */
  let due: (() => void) | null = null

  const waitMs = () => {
    if (denied) return backOffMs(unitBackOff, denials, chance)
    if (failures === 0 || failures % servers.length !== 0) return 0
    return backOffMs(coordinationBackOff, failures / servers.length, chance)
  }
  const patienceMs = () => {
    const rounds = Math.max(1, Math.floor(failures / servers.length))
    return Math.max(coordinationDialMs, Math.min(rounds * coordinationDialMs, Math.floor(how.sessionMs / 3)))
  }

  return {
    next(go, late) {
      due = () => {
        due = null
        server = servers[turn++ % servers.length] as Server
        noted = null
        const ms = patienceMs()
        cancel = clock.after(ms, () => late(ms))
        go(server)
      }
      cancel = clock.after(waitMs(), due)
    },
    answered: () => cancel(),
    proven() {
      failures = 0
      denials = 0
      denied = null
      sinceMs = null
      said.clear()
    },
    note(why) {
      noted ??= why
    },
    deny(fault) {
      denied = fault
      denials++
    },
    hurry() {
      denied = null
      denials = 0
      if (!due) return
      cancel()
      cancel = clock.after(0, due)
    },
    ended() {
      cancel()
      failures++
      sinceMs ??= clock.nowMs()
      if (server) said.set(serverName(server), noted ?? 'closed the connection')
    },
    trouble: () => troubleOf(servers, said, { ms: clock.nowMs() - (sinceMs ?? clock.nowMs()), denied }),
    stop() {
      cancel()
      due = null
    },
  }
}
