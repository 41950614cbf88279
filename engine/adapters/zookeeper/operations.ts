import type { Done } from 'node-zookeeper-client'
import type { MillraceError } from '../../errors.ts'
import type { Clock } from '../../ports/clock.ts'

/** `error`: ZooKeeper's number, 0 = none. */
export type Answer<A extends unknown[]> = { error: number; answer: Partial<A> }

export type Question<A extends unknown[]> = {
  ms: number
  /** Hands the operation to the library. */
  go(done: Done<A>): void
  /** What is said when there is no answer. */
  unanswered(why: string): MillraceError
  /** Told when the time is over: the line is mute. */
  late(why: string): void
}

/** Every operation that waits for its answer. The library forgets some of them, and is late with others (C-75). */
export type Operations = {
  ask<A extends unknown[]>(question: Question<A>): Promise<Answer<A>>
  /** Settles all that are open; what the library says of them later changes nothing. */
  settle(why: string): void
}

export function operations(clock: Clock): Operations {
  const open = new Set<(why: string) => void>()
  return {
    ask: <A extends unknown[]>({ ms, go, unanswered, late }: Question<A>) =>
      new Promise<Answer<A>>((resolve, reject) => {
        const end = () => {
          cancel()
          return open.delete(unsettled)
        }
        const unsettled = (why: string) => {
          if (end()) reject(unanswered(why))
        }
        const cancel = clock.after(ms, () => {
          const why = `no answer within ${ms} ms`
          unsettled(why)
          late(why)
        })
        open.add(unsettled)
        try {
          go((error, ...answer) => {
            if (end()) resolve({ error: error?.code ?? 0, answer: answer as Partial<A> })
          })
        } catch (error) {
          // The library asserts paths before it sends anything.
          end()
          reject(error)
        }
      }),
    settle(why) {
      for (const unsettled of [...open]) unsettled(why)
    },
  }
}
