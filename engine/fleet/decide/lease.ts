/** Shares of the negotiated session time-out S, in hundredths (C-4). */
const closingShare = 65
/** A last commit is sent before; then there is no time for its answer (C-5). */
const lastCommitShare = 69
const fencedShare = 70
const takeoverShare = 75
/** A third beat is due at its time, give or take how often it is looked. */
const silentBeats = 2.25

/** Everything may be done; nothing new, and one last commit; nothing. */
export type LeaseState = 'open' | 'closing' | 'fenced'

/** What a session time-out of S ms means in whole ms (C-4). */
export function leaseTimes(sessionMs: number) {
  const share = (hundredths: number) => Math.floor((hundredths * sessionMs) / 100)
  return {
    beatMs: Math.floor(sessionMs / 5),
    closingMs: share(closingShare),
    fencedMs: share(fencedShare),
    /** Silence after which the leader may give its units away. */
    takeoverMs: share(takeoverShare),
    lookMs: Math.floor(sessionMs / 20),
  }
}

/** `elapsedMs`: since the last answered beat was **sent**, on the process's own monotonic clock (C-4). */
export function leaseState(elapsedMs: number, sessionMs: number): LeaseState {
  const { closingMs, fencedMs } = leaseTimes(sessionMs)
  if (elapsedMs >= fencedMs) return 'fenced'
  return elapsedMs >= closingMs ? 'closing' : 'open'
}

/** Whether a checkpoint may be stored: also while the lease closes, once (C-5). */
export function mayCommitAt(elapsedMs: number, sessionMs: number): boolean {
  return elapsedMs < Math.floor((lastCommitShare * sessionMs) / 100)
}

/** It has missed two beats: it may be dead, and nobody may have what it has yet. `leaseMs`: what its record says (C-4). */
export function isSilent(silentMs: number, leaseMs: number): boolean {
  return silentMs > silentBeats * leaseTimes((100 * leaseMs) / fencedShare).beatMs
}

/** What the leader knows of a worker's beats; times on the leader's monotonic clock. */
export type Seen = { version: number; atMs: number }

/**
 * Since when a worker has been silent, by the leader: counted from when it saw the last new beat, and only while the
 * leader itself is answered (C-9). `answeredSinceMs`: since when its own beats have been answered without a hole.
 */
export function silentSince(seen: Seen, answeredSinceMs: number): number {
  return Math.max(seen.atMs, answeredSinceMs)
}
