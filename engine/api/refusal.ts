import { type FaultCode, MillraceError } from '../errors.ts'
import { nearest } from '../flow/nearest.ts'
import { namesToldMax } from '../limits.ts'
import type { BodyFault } from './parts.ts'

/** What an answer that refuses says beside code, message and hint. */
export type Refusal = {
  status: number
  errors?: readonly BodyFault[]
  headers?: Readonly<Record<string, string>>
  /** The tag that the document has now. */
  tag?: string | null
}

const refusals = new WeakMap<Error, Refusal>()

/** An error that says itself which status it is answered with. */
export function refused(
  code: FaultCode,
  message: string,
  more: Refusal & { hint?: string | null; cause?: unknown },
): MillraceError {
  const { hint = null, cause, ...refusal } = more
  const error = new MillraceError(code, message, { hint, cause })
  refusals.set(error, refusal)
  return error
}

/** Of codes that others throw; what is not here is a fault of our own. */
const statuses: Partial<Record<FaultCode, number>> = {
  'config-invalid': 422,
  conflict: 409,
  'coordination-denied': 503,
  'coordination-unreachable': 503,
  deposed: 503,
  forbidden: 403,
  'kafka-link-lost': 503,
  'kafka-login-refused': 503,
  'kafka-not-authorized': 503,
  'kafka-tls-refused': 503,
  'kafka-unreachable': 503,
  'no-leader': 503,
  'not-found': 404,
  'outcome-unknown': 503,
  'request-invalid': 400,
  'session-lost': 503,
  stale: 412,
  'state-corrupt': 500,
  'state-version': 409,
  'store-away': 503,
  'store-denied': 503,
  'store-full': 507,
  'too-large': 413,
  unauthenticated: 401,
}

export function refusalOf(error: unknown): Refusal {
  if (!(error instanceof MillraceError)) return { status: 500 }
  const own = refusals.get(error)
  if (own) return own
  const status = statuses[error.code] ?? 500
  return status === 503 ? { status, headers: { 'retry-after': '1' } } : { status }
}

/** 422 with everything that is wrong with a body. */
export function badBody(errors: readonly BodyFault[], what = 'the body'): MillraceError {
  const places = errors.length === 1 ? `${errors[0]?.path || what}` : `${errors.length} places`
  return refused('config-invalid', `${what} is refused: ${places}`, { status: 422, errors })
}

export function notFound(message: string, near: string | null): MillraceError {
  return new MillraceError('not-found', message, near === null ? {} : { hint: `did you mean ${near}?` })
}

/** What was asked for is none of these: the one that was meant, else some of those that there are. */
export function notAmong(message: string, name: string, among: Iterable<string>): MillraceError {
  const names = [...among]
  const near = nearest(name, names)
  if (near !== null) return notFound(message, near)
  const told = names.slice(0, namesToldMax).join(', ')
  const hint = names.length === 0 ? 'there is none' : `there is: ${told}${names.length > namesToldMax ? ', …' : ''}`
  return new MillraceError('not-found', message, { hint })
}

export function conflict(message: string, hint: string, tag: string | null = null): MillraceError {
  return refused('conflict', message, { status: 409, hint, tag })
}
