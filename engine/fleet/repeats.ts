import type { Action } from '../flow/contract.ts'
import { backOffMs, unitBackOff } from '../limits.ts'
import type { Chance } from '../ports/clock.ts'

/**
 * An action that was done and is asked for again just as it was has had no effect that can be seen: it waits on the
 * curve `unit`, else it would be done without end. What is asked for otherwise does not wait.
 */
export type Repeats = {
  isDue(action: Action, nowMs: number): boolean
  done(action: Action, nowMs: number): void
  clear(): void
}

export function repeatsOf(chance: Chance): Repeats {
  const last = new Map<string, { text: string; times: number; untilMs: number }>()
  return {
    isDue(action, nowMs) {
      const before = last.get(action.do)
      return before === undefined || before.untilMs <= nowMs || before.text !== textOf(action)
    },
    done(action, nowMs) {
      const before = last.get(action.do)
      const text = textOf(action)
      const times = before?.text === text ? before.times + 1 : 1
      last.set(action.do, { text, times, untilMs: nowMs + backOffMs(unitBackOff, times, chance) })
    },
    clear: () => last.clear(),
  }
}

function textOf(action: Action): string {
  return JSON.stringify(action, (_name, value) => (typeof value === 'bigint' ? String(value) : value))
}
