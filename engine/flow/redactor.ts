import { Buffer } from 'node:buffer'
import { redactedCharactersMin } from '../limits.ts'

/** Replaces what is secret in text that leaves the process (CREDENTIALS K-15). */
export type Redactor = {
  /** From now on `value` is replaced, and its base64, hex, percent-encoded and JSON-escaped forms. */
  hide(value: string): void
  /** The same text when it holds nothing secret. */
  redact(text: string): string
}

/** One per process. Without secrets `redact` is one comparison. */
export function startRedactor(): Redactor {
  const forms = new Set<string>()
  let pattern: RegExp | null = null
  return {
    hide(value) {
      const before = forms.size
      for (const form of piecesOf(value).flatMap(formsOf)) forms.add(form)
      if (forms.size === before) return
      // The longest first: a form may begin with another.
      const longest = [...forms].toSorted((a, b) => b.length - a.length)
      pattern = new RegExp(longest.map(form => form.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('|'), 'g')
    },
    redact: text => (pattern === null ? text : text.replace(pattern, '[redacted]')),
  }
}

/** A key in PEM is secret line by line too: whatever cuts it, a line of it says a part of it. */
function piecesOf(value: string): string[] {
  const lines = value.includes('-----BEGIN') ? value.split(/\r?\n/).filter(line => !line.startsWith('-----')) : []
  return [value, ...lines].filter(piece => piece.length >= redactedCharactersMin)
}

function formsOf(value: string): string[] {
  const bytes = Buffer.from(value)
  const base64 = bytes.toString('base64')
  const hex = bytes.toString('hex')
  const percent = [...bytes].map(byte => `%${byte.toString(16).padStart(2, '0')}`).join('')
  const escaped = JSON.stringify(value).slice(1, -1)
  return [
    ...new Set([
      value,
      escaped,
      JSON.stringify(escaped).slice(1, -1),
      base64,
      // A stream of base64 goes on behind the value: its padding is not there.
      base64.replace(/=+$/, ''),
      bytes.toString('base64url'),
      hex,
      hex.toUpperCase(),
      percent,
      percent.toUpperCase(),
      encoded(value),
    ]),
  ]
}

/** Half a character has no percent form. */
function encoded(value: string): string {
  return encodeURIComponent(value.toWellFormed())
}
