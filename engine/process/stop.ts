import { stopReserveMs, stopTimeoutMs } from '../limits.ts'
import type { Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'

export type LifeState = 'running' | 'stopping' | 'drained' | 'exited'

/** The two signals of a process's life (DESIGN §9): wind down, and end now. */
export type Life = {
  readonly state: LifeState
  /** Stop reading, finish what is in flight, commit, hand back. */
  readonly stop: AbortSignal
  /** The deadline has passed, or a second signal came. */
  readonly abort: AbortSignal
  /** The signal that began the stop, null while running or when the process ended by itself. */
  readonly reason: 'SIGTERM' | 'SIGINT' | null
  /** Everything is handed back; a signal changes nothing any more. */
  drained(): void
  /** Begins the stop as a signal would. */
  begin(reason: 'SIGTERM' | 'SIGINT' | null): void
  /** Takes the handlers away. */
  close(): void
}

/**
 * RUNNING → STOPPING → DRAINED → EXITED. The first SIGTERM or SIGINT begins the stop; a second one, or the stop
 * timeout less its reserve, aborts hard and says so. `exit` is called with 130 or 143 when a second signal comes.
 */
export function startLife(how: {
  clock: Clock
  log: Log
  exit: (code: number) => void
  timeoutMs?: number
  signals?: Pick<NodeJS.EventEmitter, 'on' | 'off'>
}): Life {
  const stop = new AbortController()
  const abort = new AbortController()
  const signals = how.signals ?? process
  const deadlineMs = (how.timeoutMs ?? stopTimeoutMs) - stopReserveMs
  let state: LifeState = 'running'
  let reason: Life['reason'] = null
  let cancelDeadline = () => {}

  function begin(why: Life['reason']): void {
    if (state !== 'running') return
    state = 'stopping'
    reason = why
    how.log.info('stopping', { signal: why ?? 'none', deadlineMs })
    cancelDeadline = how.clock.after(deadlineMs, () => {
      how.log.error('the stop took too long: what is in flight is given up', { deadlineMs })
      abort.abort(new Error('the stop deadline has passed'))
    })
    stop.abort(new Error('the process is stopping'))
  }

  function onSignal(signal: 'SIGTERM' | 'SIGINT'): void {
    if (state === 'running') return begin(signal)
    if (state !== 'stopping') return
    how.log.error('a second signal: ending at once', { signal })
    abort.abort(new Error('a second signal came'))
    state = 'exited'
    how.exit(signal === 'SIGINT' ? 130 : 143)
  }
  const onTerm = () => onSignal('SIGTERM')
  const onInt = () => onSignal('SIGINT')
  signals.on('SIGTERM', onTerm)
  signals.on('SIGINT', onInt)

  return {
    get state() {
      return state
    },
    get reason() {
      return reason
    },
    stop: stop.signal,
    abort: abort.signal,
    begin,
    drained() {
      state = 'drained'
      cancelDeadline()
    },
    close() {
      cancelDeadline()
      signals.off('SIGTERM', onTerm)
      signals.off('SIGINT', onInt)
    },
  }
}

/** Unhandled rejection or error = logged fault and exit 1, never a silent half-dead process (DESIGN §9). */
export function endOnUncaught(how: {
  fatal: (msg: string, fields: Record<string, unknown>) => void
  exit: (code: number) => void
}): void {
  process.on('unhandledRejection', err => {
    how.fatal('a promise was rejected and nobody looked', { err })
    how.exit(1)
  })
  process.on('uncaughtException', err => {
    how.fatal('an error was thrown and nobody caught it', { err })
    how.exit(1)
  })
}
