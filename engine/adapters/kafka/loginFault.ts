import { MillraceError } from '../../errors.ts'
import type { SaslTrace } from './facade.ts'

const certificateCodes = new Set([
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])
const certificateHints: Record<string, string> = {
  CERT_HAS_EXPIRED: "the broker's certificate has expired: renew it",
  ERR_TLS_CERT_ALTNAME_INVALID: "the broker's certificate is for another host name: use a name that it has",
}
export const mixedUp = 'TLS spoken to a plain port or the reverse?'

/** What is known of a login that failed. */
export type LoginTrouble = {
  cluster: string
  address: string
  cause: unknown
  socketError: (Error & { code?: string }) | null
  sasl: SaslTrace
  mechanism: string | null
  timedOut: boolean
}

/** Our fault for a login that failed, with the hints of KAFKA-CLIENT §5. No secret is ever in the message. */
export function loginFault(trouble: LoginTrouble): MillraceError {
  const { cause, sasl, socketError } = trouble
  const at = `${trouble.cluster}: broker ${trouble.address}`
  const code = socketError?.code ?? codeBelow(cause)
  if (sasl.error !== null && sasl.error !== 0) return refused(trouble, at)
  if (code && certificateCodes.has(code)) {
    const hint = certificateHints[code] ?? 'add the CA to security.tls.ca'
    return new MillraceError('kafka-tls-refused', `${at}: TLS was refused: ${code}`, { hint, cause })
  }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return new MillraceError('kafka-unreachable', `${at}: no such host`, {
      retryable: true,
      cause,
      hint: 'check the name',
    })
  }
  if (code === 'ECONNREFUSED') {
    const hint = `nothing listens at ${trouble.address}`
    return new MillraceError('kafka-unreachable', `${at}: connection refused`, { retryable: true, cause, hint })
  }
  if (trouble.timedOut || code === 'ETIMEDOUT') {
    const hint = 'is the address right, and is a firewall in between?'
    return new MillraceError('kafka-unreachable', `${at}: no answer to the login in time`, {
      retryable: true,
      cause,
      hint,
    })
  }
  if (code && /^(ERR_SSL|EPROTO|ERR_TLS_(?!CERT))/.test(code)) {
    return new MillraceError('kafka-link-lost', `${at}: TLS could not be set up: ${code}`, {
      retryable: true,
      cause,
      hint: mixedUp,
    })
  }
  if (trouble.mechanism && sasl.error === 0) {
    const message = `${at}: ${trouble.mechanism} failed on our side: ${lastMessage(cause)}`
    return new MillraceError('kafka-login-refused', message, { cause, hint: "check the secret's user and mechanism" })
  }
  const closed = `${at}: the link was closed before the broker had answered`
  const message = sasl.answered ? `${at}: the login failed: ${lastMessage(cause)}` : closed
  return new MillraceError('kafka-link-lost', message, { retryable: true, cause, hint: mixedUp })
}

function refused(trouble: LoginTrouble, at: string): MillraceError {
  const { sasl, mechanism } = trouble
  const plain = 'the listener takes no SASL: leave security.mechanism out, or use the SASL port'
  const other = `the broker does not offer ${mechanism}: choose another security.mechanism`
  const hint = sasl.error === 34 ? plain : sasl.error === 33 ? other : "check the secret's user and mechanism"
  const text = sasl.message ?? `Kafka's error ${sasl.error}`
  return new MillraceError('kafka-login-refused', `${at}: the login was refused: ${text}`, {
    kafka: sasl.error,
    hint,
    cause: trouble.cause,
  })
}

/** kafkajs wraps; the socket's own code lies below `.cause` (W-21). */
function codeBelow(error: unknown): string | null {
  for (
    let e = error as { code?: unknown; cause?: unknown } | undefined, i = 0;
    e && i < 8;
    e = e.cause as typeof e, i++
  ) {
    if (typeof e.code === 'string') return e.code
  }
  return null
}

function lastMessage(error: unknown): string {
  let text = String(error)
  for (
    let e = error as { message?: unknown; cause?: unknown } | undefined, i = 0;
    e && i < 8;
    e = e.cause as typeof e, i++
  ) {
    if (typeof e.message === 'string') text = e.message
  }
  return text
}
