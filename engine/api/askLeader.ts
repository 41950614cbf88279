import { leaderAnswerBytesMax, leaderAskMs } from '../limits.ts'
import type { ApiParts } from './parts.ts'
import type { Answer } from './route.ts'

/** Whoever has it was asked by another controller, and asks nobody: two that each take the other for the leader stop. */
export const hopHeader = 'x-millrace-hop'

export type Passed = {
  method: string
  /** With its query. */
  url: string
  /** As they came; null: none. */
  authorization: string | null
  ifMatch: string | null
  ifNoneMatch: string | null
  body: Uint8Array | null
  hop: string | null
}

/** `sent`: it may have been done all the same. */
export type NoAnswer = { why: string; sent: boolean }

/** What the leader answers, as it is (C-101). Never throws; the caller decides what it can say without. */
export async function askLeader(
  parts: ApiParts,
  passed: Passed,
  how: { ms: number | null; signal: AbortSignal },
): Promise<Answer | NoAnswer> {
  const leader = parts.leader()
  if (passed.hop !== null) return { why: `asked by ${passed.hop.slice(0, 64)}, and it does not lead`, sent: false }
  if (leader === null) return { why: 'nobody leads now', sent: false }
  if (leader.url === null) return { why: `the leader ${leader.id} has no address`, sent: false }
  const late = new AbortController()
  const ms = how.ms ?? leaderAskMs
  const cancel = parts.clock.after(ms, () => late.abort())
  try {
    const response = await parts.fetch(urlAt(leader.url, passed.url), {
      method: passed.method,
      headers: headersOf(passed, leader.id),
      redirect: 'error',
      signal: AbortSignal.any([how.signal, late.signal]),
      ...(passed.body === null ? {} : { body: passed.body as Uint8Array<ArrayBuffer> }),
    })
    const text = await textOf(response)
    const kept = ['etag', 'retry-after', 'www-authenticate', 'location'].flatMap(name => {
      const value = response.headers.get(name)
      return value === null ? [] : [[name, value] as const]
    })
    const type = response.headers.get('content-type') ?? 'application/json'
    return { status: response.status, type, text, headers: Object.fromEntries(kept) }
  } catch {
    // The reason of a fetch may hold its headers, so it is not told.
    const why = late.signal.aborted ? `did not answer within ${ms / 1000} s` : 'cannot be reached'
    return { why: `the leader ${leader.id} at ${leader.url} ${why}`, sent: true }
  } finally {
    cancel()
  }
}

/** Of what was asked path and query alone: a request line may name a host of its own, which must not get the token. */
function urlAt(leader: string, asked: string): URL {
  const { pathname, search } = new URL(asked, 'http://leader')
  const url = new URL(leader)
  url.pathname = pathname
  url.search = search
  return url
}

function headersOf(passed: Passed, id: string): Record<string, string> {
  return {
    accept: 'application/json',
    [hopHeader]: id,
    ...(passed.authorization === null ? {} : { authorization: passed.authorization }),
    ...(passed.ifMatch === null ? {} : { 'if-match': passed.ifMatch }),
    ...(passed.ifNoneMatch === null ? {} : { 'if-none-match': passed.ifNoneMatch }),
    ...(passed.body === null ? {} : { 'content-type': 'application/json' }),
  }
}

async function textOf(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const piece of response.body ?? []) {
    text += decoder.decode(piece as Uint8Array, { stream: true })
    if (text.length > leaderAnswerBytesMax) throw new RangeError('an answer without end')
  }
  return text + decoder.decode()
}
