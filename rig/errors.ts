/** Codes of RIG §4. A code exists where a program branches: on the exit code, or on what may stay behind. */
export type RigCode =
  | 'rig-cache'
  | 'rig-died'
  | 'rig-download'
  | 'rig-memory'
  | 'rig-port'
  | 'rig-ready-timeout'
  | 'rig-start'
  | 'rig-tool-missing'
  | 'rig-usage'

export type RigErrorMore = {
  /** The running name of the part, `kafka.east.2`. */
  part?: string | null
  /** Path of the part's log file, when it has one. */
  log?: string | null
  hint?: string | null
  /** The last lines of the log or of the tool's output; they follow the message when it is printed. */
  lines?: string[]
  cause?: unknown
}

/** The one error of the rig. `message` says what was found and what was expected, `hint` what to do about it. */
export class RigError extends Error {
  override readonly name = 'RigError'
  readonly code: RigCode
  readonly part: string | null
  readonly log: string | null
  readonly hint: string | null
  /** Not shown again beside the message by whoever prints an error with its fields. */
  declare readonly lines: string[]

  constructor(code: RigCode, message: string, more: RigErrorMore = {}) {
    super([message, ...(more.lines ?? [])].join('\n    '), more.cause === undefined ? undefined : { cause: more.cause })
    this.code = code
    this.part = more.part ?? null
    this.log = more.log ?? null
    this.hint = more.hint ?? null
    Object.defineProperty(this, 'lines', { value: more.lines ?? [], enumerable: false })
  }
}

const exits: Partial<Record<RigCode, number>> = {
  'rig-usage': 2,
  'rig-tool-missing': 3,
  'rig-download': 4,
  'rig-memory': 5,
}

/** Exit code of the command; 1 for everything that is not listed there. */
export function exitOf(error: unknown): number {
  return error instanceof RigError ? (exits[error.code] ?? 1) : 1
}

/** Whether the run folder is worth keeping (R-11, the column `left behind` of §4). */
export function keepsFolder(error: unknown): boolean {
  return !(error instanceof RigError) || ['rig-start', 'rig-ready-timeout', 'rig-died'].includes(error.code)
}

/** The error as a person reads it: code, message with the last lines, hint, log. */
export function describeError(error: unknown): string {
  if (!(error instanceof RigError)) return error instanceof Error ? (error.stack ?? error.message) : String(error)
  const rows = [`${error.code}: ${error.message}`]
  if (error.hint !== null) rows.push(`  hint: ${error.hint}`)
  if (error.log !== null) rows.push(`  log: ${error.log}`)
  return rows.join('\n')
}
