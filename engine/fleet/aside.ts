import { type Fault, faultOf, type MillraceError } from '../errors.ts'
import { asideKey } from '../flow/contract.ts'
import { backOffMs, slowBackOff, unitBackOff } from '../limits.ts'
import type { Chance } from '../ports/clock.ts'

/** What could not be done and waits for its next try, by `asideKey` (C-94). */
export type Aside = {
  /** Gives true when it fails otherwise than before, so that somebody is told. */
  put(key: string, error: MillraceError, nowMs: number): boolean
  /** The action went through: of what was tried at `atMs` only the pieces `undone` still wait. */
  done(action: string, undone: readonly string[], atMs: number): void
  /** Whether the whole action may be tried now. */
  isDue(action: string, nowMs: number): boolean
  /** What still waits. */
  faults(nowMs: number): ReadonlyMap<string, Fault>
  clear(): void
}

/** What can be tried again soon goes by the curve `unit`, the rest by `slow`. */
export function asideList(chance: Chance): Aside {
  const list = new Map<string, { fault: Fault; tries: number; untilMs: number }>()
  return {
    put(key, error, nowMs) {
      const before = list.get(key)
      const tries = (before?.tries ?? 0) + 1
      const fault = faultOf(error, error.code)
      const waitMs = backOffMs(error.retryable ? unitBackOff : slowBackOff, tries, chance)
      list.set(key, { fault, tries, untilMs: nowMs + waitMs })
      return before?.fault.message !== fault.message
    },
    done(action, undone, atMs) {
      const waits = new Set(undone.map(item => asideKey(action, item)))
      for (const [key, { untilMs }] of list) {
        const wasTried = key === asideKey(action) || (key.startsWith(asideKey(action, '')) && untilMs <= atMs)
        if (wasTried && !waits.has(key)) list.delete(key)
      }
    },
    isDue: (action, nowMs) => (list.get(asideKey(action))?.untilMs ?? 0) <= nowMs,
    faults: nowMs => new Map([...list].filter(([, one]) => one.untilMs > nowMs).map(([key, one]) => [key, one.fault])),
    clear: () => list.clear(),
  }
}
