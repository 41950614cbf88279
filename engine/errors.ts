/**
 * Every fault code of Millrace, one list (DESIGN §9). A code exists where a program branches or where an exit code
 * or an alarm differs; its row for people is in `docs/errors.md`, and a test holds the two together.
 */
export const faultCodes = [
  'api-unreachable',
  'batch-corrupt',
  'batch-refused',
  'checkpoint-lost',
  'config-invalid',
  'conflict',
  'coordination-denied',
  'coordination-required',
  'coordination-unreachable',
  'deposed',
  'destination-missing',
  'destination-recreated',
  'flow-runs-twice',
  'forbidden',
  'group-in-use',
  'id-taken',
  'internal',
  'kafka-link-lost',
  'kafka-login-refused',
  'kafka-not-authorized',
  'kafka-protocol',
  'kafka-tls-refused',
  'kafka-unreachable',
  'kafka-version-unsupported',
  'mirror-loop',
  'no-leader',
  'not-found',
  'outcome-unknown',
  'record-too-large',
  'request-invalid',
  'secret-denied',
  'secret-empty',
  'secret-invalid',
  'secret-missing',
  'session-lost',
  'source-gap',
  'source-missing',
  'source-truncated',
  'stale',
  'state-corrupt',
  'state-version',
  'steer-failed',
  'store-away',
  'store-denied',
  'store-full',
  'too-large',
  'topic-recreated',
  'unauthenticated',
  'unit-fenced',
] as const

export type FaultCode = (typeof faultCodes)[number]

/** What a fault looks like as data: in a state, an event, a log line. */
export type Fault = { code: FaultCode; message: string; hint: string | null }

/** The one error type (DESIGN §9). `message` says what was found, `hint` what to do about it. */
export class MillraceError extends Error {
  override readonly name = 'MillraceError'
  readonly code: FaultCode
  readonly retryable: boolean
  readonly hint: string | null
  /** Kafka's own error number, when a broker gave one. */
  readonly kafka: number | null

  constructor(
    code: FaultCode,
    message: string,
    more: { retryable?: boolean; hint?: string | null; cause?: unknown; kafka?: number | null } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause })
    this.code = code
    this.retryable = more.retryable ?? false
    this.hint = more.hint ?? null
    this.kafka = more.kafka ?? null
  }
}

/** The data of an error; anything that is not ours becomes `fallback` with its message. */
export function faultOf(error: unknown, fallback: FaultCode): Fault {
  if (error instanceof MillraceError) return { code: error.code, message: error.message, hint: error.hint }
  return { code: fallback, message: error instanceof Error ? error.message : String(error), hint: null }
}
