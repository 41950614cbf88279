import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { MillraceError } from '../engine/errors.ts'
import { apiAnswerMs, stateBytesMax } from '../engine/limits.ts'
import type { Clock } from '../engine/ports/clock.ts'
import { type Problem, problemIn, refusalOf } from './apiProblem.ts'

export type Verb = 'GET' | 'PUT' | 'POST' | 'DELETE'
export type ApiRequest = {
  method: Verb
  /** `/v1/flows`; parts of it are escaped (`apiPath`). */
  path: string
  body?: unknown
  /** The ETag as it was answered. */
  ifMatch?: string
  /** Only if it is not there yet. */
  isCreate?: boolean
  /** How much longer than usual the answer may take. */
  moreMs?: number
}
/** `json`: the body as data; `text`: as it came. */
export type ApiAnswer = { status: number; text: string; json: unknown; etag: string | null }
export type Told = { ok: true; answer: ApiAnswer } | { ok: false; problem: Problem }

export type ApiClient = {
  /** For messages. */
  url: string
  /** Rejects when there is no answer of the API: `api-unreachable`, or `outcome-unknown` of a change. */
  tell(request: ApiRequest): Promise<Told>
  /** As `tell`; a refusal is thrown too. */
  ask(request: ApiRequest): Promise<ApiAnswer>
}

/** The names of a path, each escaped: any name is one part. */
export function apiPath(...parts: readonly (string | number)[]): string {
  return `/v1/${parts.map(part => encodeURIComponent(part)).join('/')}`
}

type Raw = { status: number; headers: IncomingHttpHeaders; text: string }

/** `token` is sent, and told to nobody else. */
export function openApiClient(of: { base: URL; token: string | null; clock: Clock }): ApiClient {
  const url = of.base.href.replace(/\/$/, '')

  async function tell(request: ApiRequest): Promise<Told> {
    const raw = await send(of, url, request)
    const json = jsonIn(raw)
    if (json === undefined) throw notMillrace(url, raw)
    const etag = raw.headers.etag ?? null
    if (raw.status >= 200 && raw.status < 300) {
      return { ok: true, answer: { status: raw.status, text: raw.text, json, etag } }
    }
    const problem = problemIn(json)
    if (problem === null) throw notMillrace(url, raw)
    return { ok: false, problem }
  }

  async function ask(request: ApiRequest): Promise<ApiAnswer> {
    const told = await tell(request)
    if (told.ok) return told.answer
    throw refusalOf(told.problem)
  }

  return { url, tell, ask }
}

function send(
  { base, token, clock }: { base: URL; token: string | null; clock: Clock },
  url: string,
  of: ApiRequest,
): Promise<Raw> {
  // Not imported: an ES import of node:http reads all its names, and some load a whole HTTP client (engine/process/http.ts).
  const http =
    base.protocol === 'https:' ? process.getBuiltinModule('node:https') : process.getBuiltinModule('node:http')
  const body = of.body === undefined ? null : JSON.stringify(of.body)
  const ms = apiAnswerMs + (of.moreMs ?? 0)
  return new Promise((resolve, reject) => {
    let isSent = false
    const failed = (error: unknown) => {
      cancel()
      reject(noAnswer(error, { url, method: of.method, isSent }))
    }
    const request = http.request(
      {
        // In a URL an IPv6 address stands in brackets.
        host: base.hostname.replace(/^\[|\]$/g, ''),
        port: base.port || (base.protocol === 'https:' ? 443 : 80),
        path: `${base.pathname.replace(/\/$/, '')}${of.path}`,
        method: of.method,
        headers: headersOf(of, token, body),
        // One request a connection: one that was kept may be closed by the other end just when it is used again.
        agent: false,
      },
      response => void textOf(response).then(text => done(response, text), failed),
    )
    const cancel = clock.after(ms, () => request.destroy(new LateError(`did not answer within ${ms / 1000} s`)))
    const done = ({ statusCode, headers }: IncomingMessage, text: string) => {
      cancel()
      resolve({ status: statusCode ?? 0, headers, text })
    }
    request.on('socket', socket =>
      socket.once(base.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
        isSent = true
      }),
    )
    request.on('error', failed)
    request.end(body ?? undefined)
  })
}

class LateError extends Error {}

function headersOf(of: ApiRequest, token: string | null, body: string | null): Record<string, string | number> {
  return {
    accept: 'application/json',
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    ...(of.ifMatch === undefined ? {} : { 'if-match': of.ifMatch }),
    ...(of.isCreate ? { 'if-none-match': '*' } : {}),
    ...(body === null ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of response as AsyncIterable<Buffer>) {
    length += piece.length
    if (length > stateBytesMax) throw new LateError(`answered more than ${stateBytesMax} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

/** Undefined: it is no JSON. */
function jsonIn({ headers, text }: Raw): unknown {
  if (!/^application\/(problem\+)?json\b/.test(headers['content-type'] ?? '')) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function notMillrace(url: string, { status, headers }: Raw): MillraceError {
  const type = headers['content-type'] ?? 'no type'
  return new MillraceError('api-unreachable', `${url} does not answer as the API of a fleet: ${status}, ${type}`, {
    hint: elsewhere,
  })
}

const elsewhere = 'name the API: --api URL, or MILLRACE_API in the environment'

function noAnswer(error: unknown, of: { url: string; method: Verb; isSent: boolean }): MillraceError {
  const { url, method, isSent } = of
  const why = reasonOf(error)
  if (isSent && method !== 'GET') {
    return new MillraceError('outcome-unknown', `${url} ${why}: it may be done or not`, {
      hint: 'look, or repeat the command: a repeat is safe',
      cause: error,
    })
  }
  if (codeOf(error) === 'ECONNREFUSED') {
    const wait = 'or wait: a controller that was ended is started anew within seconds'
    const hint = `start a fleet: millrace run -c millrace.yaml; ${wait}; or ${elsewhere}`
    return new MillraceError('api-unreachable', `nothing listens at ${url}`, { hint, cause: error })
  }
  return new MillraceError('api-unreachable', `${url} ${why}`, { hint: elsewhere, cause: error })
}

function reasonOf(error: unknown): string {
  const code = codeOf(error)
  if (error instanceof LateError) return error.message
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'is at a host that nobody knows'
  if (code === 'ECONNRESET' || code === 'EPIPE') return 'closed the connection without an answer'
  if (/^HPE_/.test(code)) return 'does not speak HTTP'
  if (/^(CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_TLS|EPROTO|ERR_SSL)/.test(code)) return `refuses TLS: ${code}`
  return `cannot be reached: ${code === '' ? String(error) : code}`
}

/** An error of several addresses of one host has the codes of each. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0])
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
