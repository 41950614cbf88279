import { type FaultCode, faultOf, MillraceError } from '../errors.ts'
import { etag } from './match.ts'
import type { ApiParts } from './parts.ts'
import { refusalOf, refused } from './refusal.ts'

export const problemType = 'application/problem+json'

/** Who leads and as of when an answer is true (C-101). */
export type Frame = { leader: string | null; epoch: number | null; asOf: string }

export function frameOf(parts: Pick<ApiParts, 'leader'>, asOfMs: number): Frame {
  const leader = parts.leader()
  return { leader: leader?.id ?? null, epoch: leader?.epoch ?? null, asOf: new Date(asOfMs).toISOString() }
}

const titles: Record<number, string> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  412: 'Precondition Failed',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Content',
  428: 'Precondition Required',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
  507: 'Insufficient Storage',
}

export type Problem = {
  status: number
  code: FaultCode
  body: Record<string, unknown>
  headers: Readonly<Record<string, string>>
}

/** An error as RFC 9457 tells it. What is no error of ours says nothing of itself: its text may hold anything. */
export function problemOf(error: unknown, requestId: string): Problem {
  const translated = fromHttp(error)
  const { status, errors, headers = {}, tag } = refusalOf(translated)
  const fault =
    translated instanceof MillraceError
      ? faultOf(translated, translated.code)
      : {
          code: 'internal' as const,
          message: 'the answer could not be made',
          hint: `see the log, request ${requestId}`,
        }
  const body = {
    type: `urn:millrace:fault:${fault.code}`,
    title: titles[status] ?? 'Error',
    status,
    detail: fault.message,
    code: fault.code,
    hint: fault.hint,
    requestId,
    ...(errors === undefined ? {} : { errors }),
    ...(tag == null ? {} : { etag: etag(tag) }),
  }
  return { status, code: fault.code, body, headers: tag == null ? headers : { ...headers, etag: etag(tag) } }
}

/** What the HTTP server throws, in our words. */
function fromHttp(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof MillraceError || !('statusCode' in error)) return error
  const status = Number(error.statusCode)
  if (status === 413) {
    return refused('too-large', 'the body is too large', { status, hint: 'a flow with what stands around it: 272 KiB' })
  }
  if (status === 415) {
    return refused('request-invalid', 'the body is of another type', {
      status,
      hint: 'send content-type: application/json',
    })
  }
  if (status >= 400 && status < 500) return refused('request-invalid', 'the request cannot be read', { status })
  return error
}

/** Of a connection whose request was never read: as bytes, for there is no request to answer. */
export function rawProblem(error: Error & { code?: string }): string {
  const status = error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400
  const title = titles[status] ?? 'Error'
  const body = JSON.stringify({
    type: 'urn:millrace:fault:request-invalid',
    title,
    status,
    detail: 'the request cannot be read as HTTP',
    code: 'request-invalid',
    hint: null,
  })
  const head = `HTTP/1.1 ${status} ${title}\r\nconnection: close\r\ncontent-type: ${problemType}`
  return `${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}
