import {
  quarantineFirstMs,
  quarantineForgivenMs,
  quarantineLastMs,
  quarantineStrikes,
  quarantineWindowMs,
} from '../../limits.ts'

/** Ejections and expiries of one id, and what came of them (C-52). */
export type Strikes = {
  timesMs: readonly number[]
  /** How often it was quarantined. */
  turns: number
  untilMs: number | null
}

export const noStrikes: Strikes = { timesMs: [], turns: 0, untilMs: null }

/** One more: the third in 600 s sends it away for 5 min, then 10, … 60. */
export function struck(before: Strikes, nowMs: number): Strikes {
  const last = before.timesMs.at(-1) ?? before.untilMs
  const { turns, untilMs, timesMs } = last !== null && nowMs - last >= quarantineForgivenMs ? noStrikes : before
  const recent = [...timesMs.filter(atMs => nowMs - atMs < quarantineWindowMs), nowMs]
  if (recent.length < quarantineStrikes) return { timesMs: recent, turns, untilMs }
  const forMs = Math.min(quarantineLastMs, quarantineFirstMs * 2 ** turns)
  return { timesMs: [], turns: turns + 1, untilMs: nowMs + forMs }
}

export function isQuarantined({ untilMs }: Strikes, nowMs: number): boolean {
  return untilMs !== null && nowMs < untilMs
}
