import { refused } from './refusal.ts'

/** What a request asks of the document that it changes (C-100, RFC 9110 §13). */
export type Match = {
  /** One of these tags, or `'*'`: any, as long as it is there. Null: not asked. */
  ifMatch: '*' | readonly string[] | null
  /** `If-None-Match: *`: only if it is not there. */
  isCreate: boolean
  /** As it was sent, for the audit. */
  text: string | null
}

/** The tag of what is not there: whoever saw that it was not may say so. */
export const noTag = 'none'

export function etag(tag: string | null): string {
  return `"${tag ?? noTag}"`
}

export function matchOf(headers: { 'if-match'?: string | undefined; 'if-none-match'?: string | undefined }): Match {
  const text = headers['if-match'] ?? null
  const none = headers['if-none-match']
  if (none !== undefined && none.trim() !== '*') {
    throw badHeader('If-None-Match', none, 'only * is known: create, never change')
  }
  return { ifMatch: text === null ? null : tagsOf(text), isCreate: none !== undefined, text }
}

function tagsOf(text: string): Match['ifMatch'] {
  if (text.trim() === '*') return '*'
  const parts = text.split(',').map(part => /^\s*(W\/)?"([\x21\x23-\x7e]*)"\s*$/.exec(part))
  if (parts.some(part => part === null)) throw badHeader('If-Match', text, 'the ETag as it was answered, in quotes')
  // A weak tag never matches (RFC 9110 §13.1.1).
  return parts.flatMap(part => (part?.[1] === undefined ? [part?.[2] ?? ''] : []))
}

function badHeader(name: string, found: string, hint: string): Error {
  return refused('request-invalid', `${name}: ${found.slice(0, 80)} is not understood`, { status: 400, hint })
}

/** Throws `stale` when the document, null = not there, is not the one that was asked for. */
export function checkMatch(match: Match, tag: string | null, what: string): void {
  const { ifMatch, isCreate } = match
  const isMet =
    (!isCreate || tag === null) &&
    (ifMatch === null || (ifMatch === '*' ? tag !== null : ifMatch.includes(tag ?? noTag)))
  if (isMet) return
  const found = tag === null ? 'it is not there' : `its tag is ${etag(tag)}`
  throw refused('stale', `${what}: ${found}`, {
    status: 412,
    tag,
    hint: isCreate ? 'If-None-Match: * asks that it is not there' : 'read it again and send the tag that it has now',
  })
}
