import { memoryTree, type Tree } from '../../engine/adapters/memory/tree.ts'
import type { FaultCode } from '../../engine/errors.ts'
import type { Clock } from '../../engine/ports/clock.ts'
import type { Coordinator } from '../../engine/ports/coordinator.ts'
import { seeded } from '../../rig/seeded.ts'
import { type Asked, type FakeSession, fakeSession, type Line } from './coordinator/session.ts'
import { vices, type Where } from './coordinator/vices.ts'

/** ZooKeeper and the adapter in front of it, as far as a fleet sees them: many sessions over one tree (C-72). */
export type FakeCoordination = {
  /** An `OpenCoordinator`: phase `connecting`, and connected a moment later. */
  open(): Coordinator
  /** All that were opened, in order. */
  readonly sessions: readonly Coordinator[]
  /** What ZooKeeper has; a write to it is somebody's from outside. */
  readonly tree: Tree
  /** The next one that `where` says yes to is done; the connection is lost before its answer. */
  loseNextAnswer(where?: Where): void
  /** The same, and it is not done. */
  loseNextRequest(where?: Where): void
  /** The next one is not done, and rejects with that. */
  failNext(code: FaultCode, where?: Where): void
  /** So many of the next hints of all sessions are lost. */
  dropHints(count: number): void
  /** No connection for so long; Infinity: never again, its process was killed. Expires after its time-out. */
  suspend(session: Coordinator, ms: number): void
  /** All that is sent vanishes for so long: noticed when a deadline is over, S/5 for a beat. */
  mute(session: Coordinator, ms: number): void
  /** The server ends the session, though its network is fine. */
  expire(session: Coordinator): void
  /** It reads what was so when this began, until then or until it writes itself; its hints wait as well. */
  staleReads(session: Coordinator, ms: number): void
  /** No server for so long; then every session has its whole time-out again. */
  outage(ms: number): void
}

export type FakeOptions = {
  clock: Clock
  /** Decides delays, the order of hints and how long a reconnection takes. */
  seed?: number
  timeoutMs?: number
  /**
   * Each way takes from 0 to so long. 0: everything is answered without any time passing, in microtasks, and a lost
   * connection is there again with the clock's next turn.
   */
  delayMsMax?: number
  /** Told of each operation that reaches the server, before it is done. */
  seen?: (asked: Asked) => void
}

export function fakeCoordination(options: FakeOptions): FakeCoordination {
  const { clock, delayMsMax = 0 } = options
  const chance = seeded(options.seed ?? 1)
  const tree = memoryTree()
  const sessions = new Map<Coordinator, FakeSession>()
  const vice = vices(chance)
  const line: Line = {
    clock,
    tree,
    timeoutMs: options.timeoutMs ?? 10_000,
    chance,
    delayMs: () => (delayMsMax === 0 ? 0 : Math.floor(chance() * (delayMsMax + 1))),
    vice,
    seen: options.seen ?? (() => {}),
    awayUntilMs: () => awayUntilMs,
  }
  let awayUntilMs = 0
  const of = (session: Coordinator) => {
    const found = sessions.get(session)
    if (!found) throw new Error('that session was not opened here')
    return found
  }
  return {
    open() {
      const session = fakeSession(line, (sessions.size + 1).toString(16).padStart(16, '0'))
      sessions.set(session.coordinator, session)
      return session.coordinator
    },
    get sessions() {
      return [...sessions.keys()]
    },
    tree,
    loseNextAnswer: where => vice.lose('answer', where),
    loseNextRequest: where => vice.lose('request', where),
    failNext: (code, where) => vice.fail(code, where),
    dropHints: count => vice.dropHints(count),
    suspend: (session, ms) => of(session).suspend(ms),
    mute: (session, ms) => of(session).mute(ms),
    expire: session => of(session).expire(),
    staleReads: (session, ms) => of(session).staleReads(ms),
    outage(ms) {
      awayUntilMs = Math.max(awayUntilMs, clock.nowMs() + ms)
      for (const session of sessions.values()) session.serversGone()
    },
  }
}
