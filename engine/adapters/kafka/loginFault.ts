import { MillraceError } from '../../errors.ts'
import type { SaslTrace } from './facade.ts'
import type { KeyName } from './login.ts'

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
function certificateHint(code: string, name: KeyName): string {
  switch (code) {
    case 'CERT_HAS_EXPIRED':
      return "the broker's certificate has expired: renew it at the broker; no key of ours lets it pass"
    case 'CERT_NOT_YET_VALID':
      return "the broker's certificate is not valid yet: is the clock of this machine right?"
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `the broker's certificate is for another host name: use a name that it has, or set ${name('tls.serverName')} to one`
    default:
      return `nobody we trust has signed the broker's certificate: add the CA to ${name('tls.ca')}`
  }
}

export function mixedUp(name: KeyName): string {
  return `TLS spoken to a plain port or the reverse? look at ${name('tls')} and the port`
}

/** What is known of a login that failed. */
export type LoginTrouble = {
  cluster: string
  address: string
  cause: unknown
  socketError: (Error & { code?: string }) | null
  sasl: SaslTrace
  mechanism: string | null
  /** Whether we have shown a certificate of our own; null = TLS was not spoken. */
  clientCertificate: boolean | null
  keyName: KeyName
  timedOut: boolean
}

/** Our fault for a login that failed, with the hints of KAFKA-CLIENT §5. No secret is ever in the message. */
export function loginFault(trouble: LoginTrouble): MillraceError {
  const { cause, sasl, socketError, keyName } = trouble
  const at = `${trouble.cluster}: broker ${trouble.address}`
  const code = socketError?.code ?? codeBelow(cause)
  if (sasl.error !== null && sasl.error !== 0) return refused(trouble, at)
  if (code && certificateCodes.has(code)) {
    const hint = certificateHint(code, keyName)
    return new MillraceError('kafka-tls-refused', `${at}: TLS was refused: ${code}`, { hint, cause })
  }
  if (code && trouble.clientCertificate !== null && ourCertificate.test(code)) return ours(trouble, at, code)
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
      hint: mixedUp(keyName),
    })
  }
  if (trouble.mechanism && sasl.error === 0) {
    const message = `${at}: ${trouble.mechanism} failed on our side: ${lastMessage(cause)}`
    return new MillraceError('kafka-login-refused', message, { cause, hint: checkSecret(trouble) })
  }
  const closed = `${at}: the link was closed before the broker had answered`
  const message = sasl.answered ? `${at}: the login failed: ${lastMessage(cause)}` : closed
  return new MillraceError('kafka-link-lost', message, { retryable: true, cause, hint: mixedUp(keyName) })
}

/** Alerts of the broker about the certificate that we have shown, or have not. */
const ourCertificate = /ALERT_(CERTIFICATE|BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED)/

function ours({ clientCertificate, keyName, cause }: LoginTrouble, at: string, code: string): MillraceError {
  const wanted = `the broker wants a client's certificate: set ${keyName('tls.certificate')}, or mechanism: tls and its file`
  const refused = `the broker does not take our certificate: is it in date, and signed by an authority that the broker knows? it is what ${keyName('tls.certificate')} names, or the file of mechanism: tls`
  const message = `${at}: TLS was refused by the broker: ${code}`
  return new MillraceError('kafka-tls-refused', message, { hint: clientCertificate ? refused : wanted, cause })
}

function checkSecret({ keyName, mechanism }: LoginTrouble): string {
  return `check the secret's user and mechanism: ${keyName('file')} or env holds user and password, ${keyName('mechanism')} is ${mechanism}`
}

function refused(trouble: LoginTrouble, at: string): MillraceError {
  const { sasl, mechanism, keyName } = trouble
  const plain = `the listener takes no SASL: leave ${keyName('mechanism')} out, or use the SASL port`
  const other = `the broker does not offer ${mechanism}: choose another ${keyName('mechanism')}`
  const hint = sasl.error === 34 ? plain : sasl.error === 33 ? other : checkSecret(trouble)
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
