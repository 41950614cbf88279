import { lineFields } from './lineFields.ts'

/** Fields that have their own place in a pretty line. */
const placed = new Set<string>(lineFields)

/**
 * A line for people (LOGS §2.2): `HH:MM:SS.mmm label LEVEL [flow ][topic[/partition][@offset] ]msg[ name=value…][
 * err=code: message]`, in the zone of the terminal, control characters made visible (L-93).
 */
export function prettyLine(line: Record<string, unknown>): string {
  const at = new Date(String(line['ts']))
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map(n => String(n).padStart(2, '0')).join(':')
  const ms = String(at.getMilliseconds()).padStart(3, '0')
  const parts = [`${time}.${ms}`, String(line['svc']), String(line['level']).toUpperCase().padEnd(5)]
  if (line['flow'] !== undefined) parts.push(String(line['flow']))
  if (line['topic'] !== undefined) {
    const partition = line['partition'] === undefined ? '' : `/${line['partition']}`
    const offset = line['offset'] === undefined ? '' : `@${line['offset']}`
    parts.push(`${line['topic']}${partition}${offset}`)
  }
  // The topic has its place; a message that has to stand alone elsewhere begins with it too.
  const said = `${line['topic']}: `
  const msg = String(line['msg'])
  parts.push(msg.startsWith(said) ? msg.slice(said.length) : msg)
  for (const [name, value] of Object.entries(line)) if (!placed.has(name)) parts.push(`${name}=${bare(value)}`)
  const err = line['err'] as { code?: unknown; message?: unknown; stack?: unknown } | undefined
  if (err) parts.push(`err=${err.code}: ${err.message}`)
  const stack =
    typeof err?.stack === 'string'
      ? `\n${err.stack
          .split('\n')
          .map(s => `    ${s}`)
          .join('\n')}`
      : ''
  return showSafe(`${parts.join(' ')}${stack}`)
}

function bare(value: unknown): string {
  if (typeof value === 'string') return /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value)
  return JSON.stringify(value)
}

/** First and last code unit of what must not reach a terminal: controls, direction marks, joiners, lone surrogates. */
const unsafe: readonly (readonly [number, number])[] = [
  [0x00, 0x08],
  [0x0b, 0x1f],
  [0x7f, 0x9f],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x2069],
  [0xfeff, 0xfeff],
]

/** No terminal ever gets a control byte that a line brought (L-93). */
export function showSafe(text: string): string {
  let out = ''
  for (const c of text) {
    const code = c.codePointAt(0) ?? 0
    const bad = unsafe.some(([first, last]) => code >= first && code <= last) || (code >= 0xd800 && code <= 0xdfff)
    const hex = code.toString(16).toUpperCase()
    out += !bad ? c : code < 256 ? `\\x${hex.padStart(2, '0')}` : `\\u${hex.padStart(4, '0')}`
  }
  return out
}
