import pino from 'pino'
import { MillraceError } from '../errors.ts'
import { logMarkMs, logSeqMax } from '../limits.ts'
import type { Chance, Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'
import { cutLine } from './cutLine.ts'
import { type Dropped, LineWriter } from './lineWriter.ts'

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal'

/** Names that belong to the line itself; a caller's field of that name is written as `<name>_` (LOGS L-6). */
const reserved = new Set([
  'ts',
  'level',
  'msg',
  'svc',
  'task',
  'container',
  'boot',
  'seq',
  'ev',
  'cutBytes',
  'raw',
  'cont',
])
const secretNames = [
  'password',
  'passwd',
  'secret',
  'token',
  'hmac',
  'authorization',
  'cookie',
  'keytab',
  'apiKey',
  'accessKeyId',
  'secretAccessKey',
  'sessionToken',
  'privateKey',
]

export type Logger = Log & {
  fatal(msg: string, fields?: Record<string, unknown>): void
  /** The last line of an orderly life; ends when everything is written out, after two seconds at most (L-3, L-12). */
  end(exitCode: number): Promise<void>
  /** What waits is written now, synchronously: for a process that dies (L-12). */
  flush(): void
}

/** 8 digits base 36 of the start time in ms, then 4 random ones; sorts by start (L-2). */
function newBoot(clock: Clock, chance: Chance): string {
  const time = clock.wallMs().toString(36).padStart(8, '0').slice(-8)
  const random = Math.floor(chance() * 36 ** 4)
    .toString(36)
    .padStart(4, '0')
  return `${time}${random}`
}

/**
 * One JSON line a thing said, numbered without a hole (LOGS L-1 to L-6, §2.1). `fd`: 1 for a task, 2 for a command,
 * whose stdout is its result. `show`: lines at a terminal are pretty instead.
 */
export function startLogger(how: {
  svc: string
  task: string
  container: string
  level: LogLevel
  fd: number
  clock: Clock
  chance: Chance
  version: string
  /** Takes out what is secret (CREDENTIALS K-15). */
  redact?: (line: string) => string
  show?: (line: Record<string, unknown>) => string
  onBroken?: () => void
}): Logger {
  const { clock, redact = line => line } = how
  let boot = newBoot(clock, how.chance)
  let seq = 0
  let lastMs = clock.nowMs()
  const writer = new LineWriter(how.fd, {
    dropped: dropped => say('warn', droppedText(dropped), { ...dropped, reason: 'stdout-blocked' }, 'log-dropped'),
    broken: () => how.onBroken?.(),
  })
  const out = pino(
    {
      level: how.level,
      base: null,
      messageKey: 'msg',
      timestamp: () => `,"ts":"${new Date(clock.wallMs()).toISOString()}"`,
      // Ours are plain data already; pino's own serializer would add a type and a stack.
      serializers: { err: (err: unknown) => err },
      formatters: { level: label => ({ level: label }) },
      mixin: () => ({ svc: how.svc, task: how.task, container: how.container, boot, seq }),
      redact: { paths: secretNames.flatMap(name => [name, `*.${name}`, `*.*.${name}`]), censor: '[redacted]' },
    },
    { write: (line: string) => writer.write(shown(redact(line.trimEnd())), seq) },
  )
  const shown = (line: string) => (how.show ? how.show(JSON.parse(line)) : cutLine(line))

  function say(level: LogLevel, msg: string, fields: Record<string, unknown>, ev?: string): void {
    if (!out.isLevelEnabled(level) && ev === undefined) return
    if (seq >= logSeqMax) {
      boot = newBoot(clock, how.chance)
      seq = 0
    }
    seq++
    lastMs = clock.nowMs()
    out[ev !== undefined && !out.isLevelEnabled(level) ? 'fatal' : level](
      { ...owned(fields), ...(ev ? { ev } : {}) },
      msg,
    )
  }

  function mark(): void {
    clock.after(logMarkMs, () => {
      if (clock.nowMs() - lastMs >= logMarkMs) say('info', 'still here', {}, 'log-mark')
      mark()
    })
  }

  say(
    'info',
    `${how.svc} ${how.version} starts`,
    { version: how.version, pid: process.pid, logLevel: how.level },
    'log-start',
  )
  mark()
  return {
    debug: (msg, fields = {}) => say('debug', msg, fields),
    info: (msg, fields = {}) => say('info', msg, fields),
    warn: (msg, fields = {}) => say('warn', msg, fields),
    error: (msg, fields = {}) => say('error', msg, fields),
    fatal: (msg, fields = {}) => say('fatal', msg, fields),
    end(exitCode) {
      say('info', `ends with exit code ${exitCode}`, { exitCode }, 'log-end')
      return writer.drained()
    },
    flush: () => writer.flush(),
  }
}

/** The caller's fields under names that are theirs to use; bigint offsets as L-6 says; an error as `err`. */
function owned(fields: Record<string, unknown>): Record<string, unknown> {
  const mine: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue
    mine[reserved.has(name) ? `${name}_` : name] =
      name === 'err' || value instanceof Error ? errorFields(value) : plain(value)
  }
  return mine
}

function plain(value: unknown): unknown {
  if (typeof value !== 'bigint') return value
  return value <= BigInt(Number.MAX_SAFE_INTEGER) && value >= -BigInt(Number.MAX_SAFE_INTEGER)
    ? Number(value)
    : String(value)
}

function errorFields(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { code: 'unknown', message: String(error) }
  const code = error instanceof MillraceError ? error.code : ((error as NodeJS.ErrnoException).code ?? error.name)
  const cause = error.cause instanceof Error ? { cause: error.cause.message } : {}
  const stack = error instanceof MillraceError ? {} : { stack: error.stack }
  return { code, message: error.message, ...stack, ...cause }
}

function droppedText(dropped: Dropped): string {
  return `${dropped.lines} log lines were dropped: nobody reads fast enough`
}
