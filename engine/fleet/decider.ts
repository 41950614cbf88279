import type { Fault } from '../errors.ts'
import type { SteerContext } from '../flow/contract.ts'
import { backOffMs, saidAgainMs, unitBackOff } from '../limits.ts'

/** Asks the pure functions of a kind. One that throws is a bug of that kind, and must end nothing (C-94). */
export type Decider = {
  /** What it says; null: it threw, or threw before and its back-off is not over. */
  ask<T>(name: string, decide: () => T): { said: T } | null
  /** What threw and was not well since. */
  trouble(): { fault: Fault; nextMs: number } | null
  /** What threw before is asked again at once. */
  again(): void
}

type Failed = { tries: number; untilMs: number; text: string; tellAgainMs: number }

/** What throws is asked again on the curve `unit`, and told as `steer-failed`: when it says something new, and each minute. */
export function deciderOf({ flow, clock, chance, tell }: SteerContext): Decider {
  const failed = new Map<string, Failed>()

  function threw(name: string, error: unknown): void {
    const before = failed.get(name)
    const nowMs = clock.nowMs()
    const [text = ''] = String(error instanceof Error ? error.message : error).split('\n', 1)
    const isNew = before?.text !== text || before.tellAgainMs <= nowMs
    const tries = (before?.tries ?? 0) + 1
    const tellAgainMs = isNew ? nowMs + saidAgainMs : before.tellAgainMs
    failed.set(name, { tries, untilMs: nowMs + backOffMs(unitBackOff, tries, chance), text, tellAgainMs })
    if (isNew) tell({ ...faultFor(name, text), state: 'error' })
  }

  function faultFor(name: string, text: string): Fault {
    const hint = 'a bug of Millrace: report it with this message; what runs goes on'
    return { code: 'steer-failed', message: `${flow}: ${name} failed: ${text}`, hint }
  }

  return {
    ask(name, decide) {
      if ((failed.get(name)?.untilMs ?? 0) > clock.nowMs()) return null
      try {
        const said = decide()
        failed.delete(name)
        return { said }
      } catch (error) {
        threw(name, error)
        return null
      }
    },
    trouble() {
      for (const [name, { text, untilMs }] of failed) return { fault: faultFor(name, text), nextMs: untilMs }
      return null
    },
    again() {
      for (const one of failed.values()) one.untilMs = 0
    },
  }
}
