import { uptimeAheadMs, uptimeLookMs } from '../limits.ts'
import type { Clock } from '../ports/clock.ts'
import { type LeaseState, leaseState, leaseTimes, mayCommitAt } from './decide/lease.ts'

/** When a beat was sent, on both clocks. */
export type Sent = { atMs: number; uptimeMs: number }

export type Lease = {
  /** By the clock, now: right in any turn, also in the first one after a pause (C-6). */
  state(): LeaseState
  /** One last commit of each unit, until it is too late for the answer (C-5). */
  mayCommit(): boolean
  /** Call it when a beat is sent. */
  sent(): Sent
  /** That beat was answered: the lease counts from its sending (C-4). */
  answered(beat: Sent): void
  /** Until the fence. */
  remainingMs(): number
  /** Since when our own beats have been answered without a hole: silence of others counts from there at most (C-9). */
  answeredSinceMs(): number
  /** Fenced from now on; nothing is told. */
  stop(): void
}

export type LeaseHow = {
  clock: Clock
  /** Goes on while the machine is suspended, as `os.uptime()` does (C-10). */
  uptimeMs: () => number
  sessionMs: number
  /** Told in the turn in which it changes; at first it is fenced. */
  on: {
    closing(): void
    fenced(): void
    open(): void
    /** Before an answer extends it: what was left of it. */
    extending?(leftMs: number): void
  }
}

/** The time in which a process may act, counted from the sending of its last answered beat (C-4). */
export function startLease({ clock, uptimeMs, sessionMs, on }: LeaseHow): Lease {
  const { closingMs, fencedMs } = leaseTimes(sessionMs)
  let from: Sent | null = null
  let told: LeaseState = 'fenced'
  /** How long the machine was suspended since `from`, as far as it has been looked at. */
  let suspendedMs = 0
  let comparedMs = Number.NEGATIVE_INFINITY
  let answeredMs: number | null = null
  let answeredSinceMs = 0
  let cancel = () => {}
  let stopped = false

  /** The monotonic clock stands still while a machine is suspended; small differences are those of two clocks (C-10). */
  function compare(): void {
    comparedMs = clock.nowMs()
    if (from === null) return
    const aheadMs = uptimeMs() - from.uptimeMs - (comparedMs - from.atMs)
    if (aheadMs > uptimeAheadMs) suspendedMs = Math.max(suspendedMs, aheadMs)
  }

  function elapsedMs(): number {
    if (from === null || stopped) return Number.POSITIVE_INFINITY
    if (clock.nowMs() - comparedMs >= uptimeLookMs) compare()
    return clock.nowMs() - from.atMs + suspendedMs
  }

  function tell(state: LeaseState): void {
    told = state
    on[state === 'open' ? 'open' : state]()
  }

  /** Tells what has come, each step of it, and waits for the next. */
  function judge(): void {
    cancel()
    if (stopped) return
    const elapsed = elapsedMs()
    const state = leaseState(elapsed, sessionMs)
    if (state === 'open' && told !== 'open') tell('open')
    if (state !== 'open' && told === 'open') tell('closing')
    if (state === 'fenced' && told === 'closing') tell('fenced')
    if (state === 'closing' && told === 'fenced') tell('closing')
    if (state === 'fenced') return
    cancel = clock.after((state === 'open' ? closingMs : fencedMs) - elapsed, judge)
  }

  return {
    state: () => leaseState(elapsedMs(), sessionMs),
    mayCommit: () => mayCommitAt(elapsedMs(), sessionMs),
    sent() {
      judge()
      return { atMs: clock.nowMs(), uptimeMs: uptimeMs() }
    },
    answered(beat) {
      if (stopped) return
      compare()
      // Before the answer extends it: a process that slept and is answered first drops its buffers all the same (C-4).
      judge()
      if (from !== null) on.extending?.(Math.max(0, fencedMs - elapsedMs()))
      const nowMs = clock.nowMs()
      if (answeredMs === null || nowMs - answeredMs + suspendedMs > sessionMs / 3) answeredSinceMs = nowMs
      answeredMs = nowMs
      if (from === null || beat.atMs > from.atMs) {
        from = beat
        suspendedMs = 0
        compare()
      }
      judge()
    },
    remainingMs: () => Math.max(0, fencedMs - elapsedMs()),
    answeredSinceMs() {
      const nowMs = clock.nowMs()
      return answeredMs === null || nowMs - answeredMs > sessionMs / 3 ? nowMs : answeredSinceMs
    },
    stop() {
      cancel()
      stopped = true
    },
  }
}
