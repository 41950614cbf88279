import { constants } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { MillraceError } from '../errors.ts'
import { configBytesMax, configLookMs, configSettledMs } from '../limits.ts'
import type { Clock } from '../ports/clock.ts'

/** The text of a configuration file, without a byte order mark. Rejects with `config-invalid`. */
export function readConfigText(path: string): Promise<string> {
  return textOf(path, constants.O_RDONLY)
}

/** A pipe without a writer would hold a thread for ever, and after a few the log, look-ups of names and the exit. */
const neverWaits = constants.O_RDONLY | constants.O_NONBLOCK

async function textOf(path: string, flags: number): Promise<string> {
  const bytes = await bytesOf(path, flags).catch(cause => {
    throw cause instanceof MillraceError ? cause : unreadable(path, reasonOf(cause), cause)
  })
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw unreadable(path, 'is not UTF-8', cause)
  }
}

async function bytesOf(path: string, flags: number): Promise<Buffer> {
  const file = await open(path, flags)
  try {
    const found = await file.stat()
    if (found.isDirectory()) throw unreadable(path, 'is a directory')
    if (flags === neverWaits && !found.isFile())
      throw unreadable(path, 'is a pipe or a device: read once, at the start')
    // A device or a pipe has no size to ask for: what is read is counted.
    const bytes = Buffer.allocUnsafe(configBytesMax + 1)
    let length = 0
    for (;;) {
      const { bytesRead } = await file.read(bytes, length, bytes.length - length)
      length += bytesRead
      if (length > configBytesMax) throw unreadable(path, `is larger than ${configBytesMax} bytes`)
      if (bytesRead === 0) return bytes.subarray(0, length)
    }
  } finally {
    await file.close()
  }
}

function unreadable(path: string, why: string, cause?: unknown): MillraceError {
  const hint = missingCodes.has(codeOf(cause))
    ? `looked for at ${resolve(path)}`
    : 'a configuration is one YAML file in UTF-8, 1 MiB at most'
  return new MillraceError('config-invalid', `${path} ${why}`, { hint, cause })
}

function reasonOf(cause: unknown): string {
  switch (codeOf(cause)) {
    case 'ENOENT':
    case 'ENOTDIR':
      return 'is not there'
    case 'EACCES':
    case 'EPERM':
      return 'may not be read by this user'
    case 'ELOOP':
      return 'is a link that leads to itself'
    default:
      return `cannot be read: ${cause instanceof Error ? cause.message : cause}`
  }
}

const missingCodes: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR'])

function codeOf(cause: unknown): unknown {
  return cause instanceof Error && 'code' in cause ? cause.code : null
}

/**
 * Calls `onChange` with the file's text 2 s after its last change, when it differs from `text` and from what was
 * given last, and on SIGHUP at once and always. The file is asked for each second by name: so a rename over it, a
 * link that is turned (Kubernetes) and file systems without notices are all seen. A file that is missing is waited
 * for; one that cannot be read is told once by `onFault`, on SIGHUP also a missing one.
 */
export function watchConfig(
  path: string,
  how: {
    /** What is in force. */
    text: string
    clock: Clock
    onChange: (text: string) => void
    onFault: (fault: MillraceError) => void
    signals?: Pick<NodeJS.EventEmitter, 'on' | 'off'>
  },
): { close(): void } {
  const { clock } = how
  const signals = how.signals ?? process
  let inForce = how.text
  let seen: string | null = null
  /** Null: what was seen last has been read. */
  let changedAtMs: number | null = null
  let closed = false
  let cancel = clock.after(configLookMs, look)

  async function read(asked: boolean): Promise<void> {
    const text = await textOf(path, neverWaits).catch(error => failed(error, asked))
    if (closed || text === null || (!asked && text === inForce)) return
    inForce = text
    how.onChange(text)
  }

  function failed(error: unknown, asked: boolean): null {
    if (!(error instanceof MillraceError)) throw error
    const missing = missingCodes.has(codeOf(error.cause))
    // When it is back it counts as changed, whatever it is.
    if (missing) seen = null
    if (!closed && (asked || !missing)) how.onFault(error)
    return null
  }

  async function look(): Promise<void> {
    const now = await markOf(path)
    if (closed) return
    if (now !== null && now !== seen) {
      seen = now
      changedAtMs = clock.nowMs()
    } else if (now !== null && changedAtMs !== null && clock.nowMs() - changedAtMs >= configSettledMs) {
      changedAtMs = null
      await read(false)
    }
    if (!closed) cancel = clock.after(configLookMs, look)
  }

  const onHangUp = () => void read(true)
  signals.on('SIGHUP', onHangUp)
  return {
    close() {
      closed = true
      cancel()
      signals.off('SIGHUP', onHangUp)
    },
  }
}

/** What changes when the file does; null when it cannot be asked for now. */
async function markOf(path: string): Promise<string | null> {
  try {
    const found = await stat(path, { bigint: true })
    // What a pipe (`-c <(…)`) or a terminal gives is not given twice.
    if (found.isFIFO() || found.isCharacterDevice()) return null
    const { mtimeNs, ctimeNs, size, ino, dev } = found
    return [mtimeNs, ctimeNs, size, ino, dev].join(' ')
  } catch {
    return null
  }
}
