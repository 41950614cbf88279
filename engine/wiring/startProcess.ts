import { machineClock } from '../adapters/local/clock.ts'
import { processExit } from '../fleet/decide/exits.ts'
import { type Redactor, startRedactor } from '../flow/redactor.ts'
import { abortGraceMs } from '../limits.ts'
import type { Clock } from '../ports/clock.ts'
import { type Logger, type LogLevel, startLogger } from '../process/logger.ts'
import { endOnUncaught, type Life, startLife } from '../process/stop.ts'
import { version } from './version.ts'

/** What every process that lives long begins with (DESIGN §9). */
export type RunningProcess = {
  clock: Clock
  log: Logger
  life: Life
  redactor: Redactor
  /** Ends it now: what was said is written, what is under way is lost. */
  exit(code: number): never
  /** All is handed back. Resolves when what was said has been taken; the caller exits with that code. */
  end(code: number): Promise<void>
}

/**
 * Log, signals and what must never be said, of this process. It stays alive until `end`: the machine's timers keep
 * nobody alive, and between two tries no socket does. `svc`, `task` and `container` are those of LOGS §2.1; `fd` is 1
 * for a task and 2 for a command, whose stdout is its result; `show` makes a line for people.
 */
export function startProcess(how: {
  svc: string
  fd: 1 | 2
  task?: string
  container?: string
  level?: LogLevel
  stopTimeoutMs?: number
  show?: (line: Record<string, unknown>) => string
}): RunningProcess {
  const clock = machineClock()
  const redactor = startRedactor()
  const log = startLogger({
    svc: how.svc,
    task: how.task ?? String(process.pid),
    container: how.container ?? '-',
    level: how.level ?? 'info',
    fd: how.fd,
    clock,
    chance: Math.random,
    version,
    redact: redactor.redact,
    ...(how.show ? { show: how.show } : {}),
    // Nobody reads a task any more: whoever started it is gone (L-11). A command goes on without its log.
    ...(how.fd === 1 ? { onBroken: () => life.begin(null) } : {}),
  })
  const exit = (code: number): never => {
    log.flush()
    process.exit(code)
  }
  endOnUncaught({ fatal: log.fatal, exit })
  const { stopTimeoutMs: timeoutMs } = how
  const life = startLife({ clock, log, exit, ...(timeoutMs === undefined ? {} : { timeoutMs }) })
  // A child of a supervisor that was killed leaves with it, in order.
  if (process.connected) process.once('disconnect', () => life.begin(null))
  // What does not let go in spite of it is left behind: better than to be killed without a word.
  const leave = () => {
    if (life.state === 'stopping') exit(processExit.aborted)
  }
  life.abort.addEventListener('abort', () => clock.after(abortGraceMs, leave), { once: true })
  const alive = setInterval(() => {}, 1 << 30)
  return {
    clock,
    log,
    life,
    redactor,
    exit,
    async end(code) {
      clearInterval(alive)
      life.drained()
      await log.end(code)
    },
  }
}
