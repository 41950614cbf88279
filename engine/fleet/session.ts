import { type Fault, faultOf, MillraceError } from '../errors.ts'
import { pause } from '../flow/pause.ts'
import {
  backOffMs,
  linkBackOff,
  rootsGoneMs,
  rootsLookMs,
  sessionTimeoutMsMax,
  sessionTimeoutMsMin,
  unitBackOff,
} from '../limits.ts'
import type { Chance, Clock } from '../ports/clock.ts'
import type { Coordinator, OpenCoordinator } from '../ports/coordinator.ts'
import { roots } from './decide/documents/paths.ts'

export type Sessions = {
  /** Opens one, and waits until it is connected and the parents of all documents are there. Null: stopped. */
  next(): Promise<Coordinator | null>
  /** The one in use, or being opened. */
  current(): Coordinator | null
  /** Why there is none that can be used. */
  trouble(): Fault | null
}

export type SessionsHow = {
  open: OpenCoordinator
  /** What was asked for; what the server grants counts (C-4). */
  sessionMs: number
  clock: Clock
  chance: Chance
  stop: AbortSignal
}

/** The sessions of one process with the coordination service, one after the other. */
export function sessionsOf(how: SessionsHow): Sessions {
  const { clock, chance, stop } = how
  let current: Coordinator | null = null
  let refused: Fault | null = null
  let everSeen = false

  async function parents(coordinator: Coordinator): Promise<void> {
    const untilMs = clock.nowMs() + rootsGoneMs
    let lost: AbortSignal | null = null
    for (;;) {
      const missing = await missingRoots(coordinator)
      // They were there and are gone: the chroot was deleted, and may be being restored (COORDINATION §10).
      const waits = everSeen && missing.includes(roots[0] ?? '') && clock.nowMs() < untilMs
      if (!waits) {
        for (const path of missing) await coordinator.write([{ do: 'create', path, data: '', mode: 'persistent' }])
        everSeen = true
        return
      }
      lost ??= lossOf(coordinator, stop)
      await pause(clock, rootsLookMs, lost)
      if (lost.aborted) return
    }
  }

  /** False: this session is of no use. */
  async function ready(coordinator: Coordinator): Promise<boolean> {
    if (!(await connected(coordinator, stop))) return false
    checkTimeout(coordinator.state().timeoutMs, how.sessionMs)
    try {
      await parents(coordinator)
      refused = null
      return coordinator.state().phase !== 'lost'
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error
      refused = faultOf(error, error.code)
      return false
    }
  }

  return {
    async next() {
      for (let tries = 1; !stop.aborted; tries++) {
        const coordinator = how.open()
        current = coordinator
        const isReady = await ready(coordinator).catch(async (error: unknown) => {
          await coordinator.close()
          throw error
        })
        if (isReady && !stop.aborted) return coordinator
        await coordinator.close()
        const curve = refused?.code === 'coordination-denied' ? unitBackOff : linkBackOff
        if (!stop.aborted) await pause(clock, backOffMs(curve, tries, chance), stop)
      }
      return null
    },
    current: () => current,
    trouble: () => current?.state().trouble ?? refused,
  }
}

async function missingRoots(coordinator: Coordinator): Promise<string[]> {
  const found = await Promise.all(roots.map(async path => ((await coordinator.read(path)) === null ? [path] : [])))
  return found.flat()
}

/** True: connected. False: lost before, or stopped. */
export function connected(coordinator: Coordinator, stop: AbortSignal): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const over = new AbortController()
  const judge = () => {
    const { phase } = coordinator.state()
    if (phase === 'connected') resolve(true)
    else if (phase === 'lost' || stop.aborted) resolve(false)
  }
  coordinator.changed(judge, over.signal)
  stop.addEventListener('abort', judge, { signal: over.signal })
  judge()
  return promise.finally(() => over.abort())
}

/** Aborted when the session is lost, or with the signal. */
function lossOf(coordinator: Coordinator, signal: AbortSignal): AbortSignal {
  const lost = new AbortController()
  coordinator.changed(phase => phase === 'lost' && lost.abort(), signal)
  if (coordinator.state().phase === 'lost') lost.abort()
  return AbortSignal.any([lost.signal, signal])
}

function checkTimeout(granted: number, asked: number): void {
  if (granted >= sessionTimeoutMsMin && granted <= sessionTimeoutMsMax) return
  const range = `${sessionTimeoutMsMin} to ${sessionTimeoutMsMax}`
  const message = `coordination.sessionMs: ${asked} was asked for and the server grants ${granted}; ${range} is allowed (C-4)`
  const hint = 'a server grants 2 to 20 of its ticks (tickTime, minSessionTimeout, maxSessionTimeout)'
  throw new MillraceError('config-invalid', message, { hint })
}
