/**
 * Kinds of secret that a login needs, at a cluster (CREDENTIALS K-1) or at ZooKeeper (K-72), the authorities that a
 * broker's certificate is checked by, and those who may use the API.
 */
export type SecretKind = 'password' | 'client-certificate' | 'authority' | 'zk-digest' | 'api-tokens'

/** Somebody who may use the API, known by the SHA-256 of his token, in small hex digits. */
export type ApiToken = { name: string; role: 'viewer' | 'operator' | 'admin'; sha256: string }

/** What a secret says (CREDENTIALS §3.1). Certificates and keys are PEM. */
export type Parsed =
  | { kind: 'password'; username: string; password: string }
  | { kind: 'client-certificate'; certificate: string; key: string; passphrase: string | null }
  | { kind: 'authority'; certificate: string }
  | { kind: 'zk-digest'; user: string; password: string }
  | { kind: 'api-tokens'; tokens: readonly ApiToken[] }

/** `key` null: of the text as a whole. Neither part holds anything of the text (K-14). */
export type SecretFault = { key: string | null; expected: string }

/** How a secret of each kind is written, for a hint. */
export const secretForms: Record<SecretKind, string> = {
  password: '{"username":"…","password":"…"}',
  'client-certificate': 'a PEM file with the certificate and its private key, or the JSON of a client-certificate',
  authority: 'a PEM file of certificates',
  'zk-digest': '{"user":"…","password":"…"}',
  'api-tokens': '{"tokens":[{"name":"ci","role":"operator","sha256":"<64 hex digits: printf %s TOKEN | sha256sum>"}]}',
}

const versionMax = 1

/**
 * The text of a secret as data (CREDENTIALS K-14, §3.1): JSON, and for certificates PEM as it is (K-13). Unknown keys
 * are ignored. Throws nothing, whatever the text.
 */
export function parseSecret(
  kind: SecretKind,
  text: string,
): { ok: true; parsed: Parsed } | { ok: false; fault: SecretFault } {
  if (kind === 'authority') return authorityOf(text)
  if (kind === 'client-certificate' && text.includes('-----BEGIN') && !text.trimStart().startsWith('{')) {
    return certificateOf({ certificate: blocksOf(text, isCertificate), key: blocksOf(text, isKey) }, null)
  }
  const value = objectOf(text)
  if (value === null) return faulty(null, `a JSON object such as ${secretForms[kind]}`)
  const { v = versionMax, kind: written = kind } = value
  if (v !== versionMax) return faulty('v', `${versionMax}, the newest that this version reads`)
  if (written !== kind) return faulty('kind', kind)
  switch (kind) {
    case 'password':
      return passwordOf(value)
    case 'zk-digest':
      return digestOf(value)
    case 'api-tokens':
      return tokensOf(value)
    default:
      return certificateOf(value, value['passphrase'])
  }
}

type Fields = Record<string, unknown>

function passwordOf({ username, password }: Fields): ReturnType<typeof parseSecret> {
  if (!isText(username)) return faulty('username', 'text')
  if (!isText(password)) return faulty('password', 'text')
  return { ok: true, parsed: { kind: 'password', username, password } }
}

/** The server takes `user:password` as one text. */
function digestOf({ user, password }: Fields): ReturnType<typeof parseSecret> {
  if (!isText(user) || user.includes(':')) return faulty('user', "text without ':'")
  if (!isText(password)) return faulty('password', 'text')
  return { ok: true, parsed: { kind: 'zk-digest', user, password } }
}

const roles = ['viewer', 'operator', 'admin'] as const

function tokensOf({ tokens }: Fields): ReturnType<typeof parseSecret> {
  if (!Array.isArray(tokens) || tokens.length === 0) return faulty('tokens', 'a list of at least one token')
  const found: ApiToken[] = []
  for (const [at, one] of tokens.entries()) {
    const { name, role, sha256 }: Fields = typeof one === 'object' && one !== null ? { ...one } : {}
    const fault = (key: string, expected: string) => faulty(`tokens[${at}].${key}`, expected)
    // It stands in each line of the audit.
    if (typeof name !== 'string' || !/^[\w.@-]{1,64}$/.test(name)) {
      return fault('name', '1 to 64 of A-Z a-z 0-9 . _ @ -')
    }
    if (found.some(before => before.name === name)) return fault('name', 'each name once')
    const known = roles.find(word => word === role)
    if (known === undefined) return fault('role', roles.join(', '))
    if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/i.test(sha256)) {
      return fault('sha256', '64 hex digits, the SHA-256 of the token')
    }
    found.push({ name, role: known, sha256: sha256.toLowerCase() })
  }
  return { ok: true, parsed: { kind: 'api-tokens', tokens: found } }
}

function certificateOf({ certificate, key }: Fields, passphrase: unknown): ReturnType<typeof parseSecret> {
  const chain = isText(certificate) ? blocksOf(certificate, isCertificate) : ''
  if (chain === '') return faulty('certificate', 'a certificate in PEM')
  const own = isText(key) ? blocksOf(key, isKey) : ''
  if (own === '') return faulty('key', 'a private key in PEM')
  if (passphrase !== undefined && passphrase !== null && !isText(passphrase)) return faulty('passphrase', 'text')
  return {
    ok: true,
    parsed: { kind: 'client-certificate', certificate: chain, key: own, passphrase: passphrase ?? null },
  }
}

function authorityOf(text: string): ReturnType<typeof parseSecret> {
  const certificate = blocksOf(text, isCertificate)
  if (certificate === '') return faulty(null, 'certificates in PEM')
  return { ok: true, parsed: { kind: 'authority', certificate } }
}

const isCertificate = (label: string) => /^(X509 |TRUSTED )?CERTIFICATE$/.test(label)
const isKey = (label: string) => /^([A-Z0-9]+ )*PRIVATE KEY$/.test(label)

/** Whole blocks whose label fits, one after another; '' = there is none. */
function blocksOf(text: string, fits: (label: string) => boolean): string {
  const blocks = [...text.matchAll(/-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g)]
  return blocks
    .filter(([, label]) => fits(label ?? ''))
    .map(([block]) => `${block}\n`)
    .join('')
}

function objectOf(text: string): Fields | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null
  } catch {
    // What JSON.parse says repeats a piece of the text.
    return null
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function faulty(key: string | null, expected: string): { ok: false; fault: SecretFault } {
  return { ok: false, fault: { key, expected } }
}
