import { MillraceError } from '../errors.ts'
import type { WorkerContext } from '../flow/contract.ts'
import { pause } from '../flow/pause.ts'
import { unitName } from '../flow/unitName.ts'
import { unlessAborted } from '../flow/unlessAborted.ts'
import { backOffMs, linkBackOff, topicGoneMs } from '../limits.ts'
import type { Part } from '../ports/kafka.ts'
import { type Asked, type Placed, placeUnits } from './place.ts'
import type { Unit } from './run.ts'
import type { MirrorSpec } from './spec.ts'

type Waiting = Asked & { resolve(placed: Placed | MillraceError): void; reject(error: unknown): void }

/** Places units that are started in one turn by one look, so that thousands of partitions cost a few requests. */
export function placer(how: {
  spec: MirrorSpec
  ctx: WorkerContext
  units: ReadonlyMap<string, Unit>
}): (part: Part, signal: AbortSignal) => Promise<Placed | null> {
  const { clock, chance, untilEnd } = how.ctx
  let waiting: Waiting[] = []

  function placed(part: Part, signal: AbortSignal): Promise<Placed | MillraceError> {
    return new Promise((resolve, reject) => {
      if (waiting.length === 0) queueMicrotask(() => void placeAll())
      waiting.push({ part, signal, resolve, reject })
    })
  }

  async function placeAll(): Promise<void> {
    const all = waiting
    waiting = []
    try {
      const found = await placeUnits(all, how.units, how)
      for (const { part, resolve } of all) {
        const one = found.get(unitName(part))
        // Of one that was stopped nobody waits for it.
        if (one) resolve(one)
      }
    } catch (error) {
      for (const one of all) {
        if (error instanceof MillraceError && error.retryable) one.resolve(error)
        else one.reject(error)
      }
    }
  }

  /** Null when the signal said so. Rejects with what trying again does not mend. */
  return async (part, signal) => {
    const sinceMs = clock.nowMs()
    for (let tries = 1; ; tries++) {
      const found = await unlessAborted(placed(part, signal), signal)
      if (found === null || signal.aborted) return null
      if (!(found instanceof MillraceError)) return found
      // A copy until the end does not wait for ever for what is not there (M-14).
      const isGone = found.code === 'source-missing' || found.code === 'destination-missing'
      if (!found.retryable || (untilEnd && isGone && clock.nowMs() - sinceMs >= topicGoneMs)) throw found
      await pause(clock, backOffMs(linkBackOff, tries, chance), signal)
      if (signal.aborted) return null
    }
  }
}
