import { createPrivateKey, X509Certificate } from 'node:crypto'
import { MillraceError } from '../errors.ts'
import { placeName } from '../flow/secret.ts'
import type { PlainSecret, PlainSecrets, SecretPlace } from '../ports/secrets.ts'
import { type Parsed, parseSecret, type SecretFault, type SecretKind, secretForms } from './decide/parseSecret.ts'

/**
 * A secret, read and checked to be what its kind needs: keys and PEM, and a private key that belongs to its
 * certificate. Rejects with a `secret-*` fault that names the place and never a value (CREDENTIALS K-14).
 */
export async function readChecked(
  secrets: PlainSecrets,
  kind: SecretKind,
  place: SecretPlace,
): Promise<{ versionId: string; parsed: Parsed }> {
  const { versionId, text } = await secrets.read(place)
  return { versionId, parsed: checked(kind, place, { versionId, text }) }
}

/** Throws `secret-invalid`. */
export function checked(kind: SecretKind, place: SecretPlace, { versionId, text }: PlainSecret): Parsed {
  const found = parseSecret(kind, text)
  const fault = found.ok ? unfit(found.parsed) : found.fault
  if (found.ok && fault === null) return found.parsed
  const { key, expected } = fault ?? { key: null, expected: '' }
  const what = key === null ? '' : ` ${key}:`
  const message = `${placeName(place)}, version ${versionId.slice(0, 8)}:${what} expected ${expected}`
  throw new MillraceError('secret-invalid', message, { hint: `as in: ${secretForms[kind]}` })
}

function unfit(parsed: Parsed): SecretFault | null {
  if (parsed.kind !== 'client-certificate' && parsed.kind !== 'authority') return null
  const blocks = parsed.certificate.match(/-----BEGIN [\s\S]*?-----END [A-Z0-9 ]+-----/g) ?? []
  const certificates: X509Certificate[] = []
  for (const block of blocks) {
    const certificate = quietly(() => new X509Certificate(block))
    if (!certificate)
      return { key: 'certificate', expected: `certificates in PEM; number ${certificates.length + 1} cannot be read` }
    certificates.push(certificate)
  }
  if (parsed.kind === 'authority') return null
  const { key, passphrase } = parsed
  const own = quietly(() => createPrivateKey({ key, ...(passphrase === null ? {} : { passphrase }) }))
  if (!own) {
    const locked = key.includes('ENCRYPTED')
    return { key: 'key', expected: locked ? 'a key that its passphrase opens' : 'a private key in PEM' }
  }
  // The first is ours, those behind it are of the authorities that lead to one the broker knows.
  if (!certificates[0]?.checkPrivateKey(own)) return { key: 'key', expected: 'the key of the first certificate' }
  return null
}

/** What OpenSSL says of a text may repeat a piece of it. */
function quietly<T>(work: () => T): T | null {
  try {
    return work()
  } catch {
    return null
  }
}
