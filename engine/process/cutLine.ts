import { Buffer } from 'node:buffer'
import { logErrMessagePointsMax, logLineBytesMax } from '../limits.ts'
import { lineFields } from './lineFields.ts'

/** What stays when nothing else fits. */
const known = new Set<string>([...lineFields, 'audit'])

type Line = Record<string, unknown> & { msg?: unknown; err?: { code?: unknown; message?: unknown; stack?: unknown } }

/**
 * A line that would be longer than 8,192 bytes is written once, cut (LOGS L-4): the stack first, then the message,
 * then all but the known fields; `cutBytes` is the last field and says by how much the line was too long.
 * `line` has no newline; so has the answer.
 */
export function cutLine(line: string): string {
  const whole = Buffer.byteLength(line) + 1
  if (whole <= logLineBytesMax) return line
  const parsed = JSON.parse(line) as Line
  const cutBytes = whole - logLineBytesMax
  if (typeof parsed.err?.stack === 'string') {
    const err = parsed.err
    const fitted = longest(String(err.stack), stack => text({ ...parsed, err: { ...err, stack } }, cutBytes))
    if (fitted !== null) return fitted
    parsed.err = { ...err, stack: '' }
  }
  const message = String(parsed.msg ?? '')
  const shorter = longest(message, msg => text({ ...parsed, msg }, cutBytes))
  if (shorter !== null) return shorter
  const bare = onlyKnown(parsed)
  return longest(message, msg => text({ ...bare, msg }, cutBytes)) ?? text({ ...bare, msg: '' }, cutBytes)
}

function onlyKnown(line: Line): Line {
  const bare: Line = {}
  for (const [name, value] of Object.entries(line)) if (known.has(name)) bare[name] = value
  if (line.err) {
    const message = [...String(line.err.message ?? '')].slice(0, logErrMessagePointsMax).join('')
    bare.err = { code: line.err.code, message }
  }
  return bare
}

function text(line: Line, cutBytes: number): string {
  return JSON.stringify({ ...line, cutBytes })
}

/** The line with the longest prefix of whole code points that fits; null when an empty one does not. */
function longest(value: string, build: (prefix: string) => string): string | null {
  const points = [...value]
  const fits = (count: number) => Buffer.byteLength(build(points.slice(0, count).join(''))) + 1 <= logLineBytesMax
  if (!fits(0)) return null
  let low = 0
  let high = points.length
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (fits(middle)) low = middle
    else high = middle - 1
  }
  return build(points.slice(0, low).join(''))
}
