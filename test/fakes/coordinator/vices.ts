import type { FaultCode } from '../../../engine/errors.ts'
import type { Chance } from '../../../engine/ports/clock.ts'
import type { Asked } from './session.ts'

/** Which operation is meant; nothing said: the next one, whatever it is. */
export type Where = (asked: Asked) => boolean

type Planned = { where: Where; vice: Vice }
export type Vice = { lose: 'answer' | 'request' } | { fail: FaultCode }

export type Vices = {
  lose(what: 'answer' | 'request', where?: Where): void
  fail(code: FaultCode, where?: Where): void
  dropHints(count: number): void
  /** The vice that was waiting for this operation; it is used up. */
  of(asked: Asked): Vice | null
  hintDropped(): boolean
  shuffled<T>(items: readonly T[]): T[]
}

export function vices(chance: Chance): Vices {
  const planned: Planned[] = []
  let drops = 0
  const plan = (vice: Vice, where: Where = () => true) => void planned.push({ where, vice })
  return {
    lose: (what, where) => plan({ lose: what }, where),
    fail: (code, where) => plan({ fail: code }, where),
    dropHints(count) {
      drops += count
    },
    of(asked) {
      const at = planned.findIndex(({ where }) => where(asked))
      return at < 0 ? null : (planned.splice(at, 1)[0]?.vice ?? null)
    },
    hintDropped: () => drops > 0 && drops-- > 0,
    shuffled(items) {
      const left = [...items]
      const order: (typeof items)[number][] = []
      while (left.length > 0) order.push(...left.splice(Math.floor(chance() * left.length), 1))
      return order
    },
  }
}
