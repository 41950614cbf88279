import { count, shownBytes, shownSeconds } from '../engine/mirror/decide/progressLine.ts'
import { showSafe } from '../engine/process/pretty.ts'

/** How a value of an answer stands in a cell of a table or behind a label. */

const none = '-'

/** One line, whatever it holds. */
export function cell(text: string | null | undefined): string {
  return text === null || text === undefined || text === '' ? none : showSafe(text.replaceAll(/\s+/g, ' '))
}

/** A number above 2^53 comes as text, and stays as it is. */
export function counted(value: number | string | null | undefined): string {
  if (value === null || value === undefined) return none
  return typeof value === 'number' ? count(value) : cell(value)
}

export function bytesCell(bytes: number | null | undefined): string {
  return bytes === null || bytes === undefined ? none : shownBytes(bytes)
}

/** Without commas: it is typed again. */
export function offsetCell(value: number | string | null | undefined): string {
  return value === null || value === undefined ? none : cell(String(value))
}

export function shownMs(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return none
  if (ms < 1_000) return `${Math.round(ms)} ms`
  // A lease of 7.5 s is not one of 8 s.
  return ms < 10_000 ? `${Math.round(ms / 100) / 10} s` : shownSeconds(ms / 1_000)
}

export function instant(wallMs: number): string {
  return new Date(wallMs).toISOString()
}

export function plural(n: number, what: string): string {
  return `${count(n)} ${what}${n === 1 ? '' : 's'}`
}

/** What a thing is called, and what it is, one a line. */
export function pageOf(rows: readonly (readonly [label: string, text: string])[]): string {
  const width = Math.max(...rows.map(([label]) => label.length))
  return rows.map(([label, text]) => `${label.padEnd(width)}  ${text}\n`).join('')
}
