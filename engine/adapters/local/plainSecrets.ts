import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { MillraceError } from '../../errors.ts'
import { placeName } from '../../flow/secret.ts'
import { secretBytesMax } from '../../limits.ts'
import type { PlainSecret, PlainSecrets, SecretPlace } from '../../ports/secrets.ts'

/** Secrets in files and in the environment, for local use (CREDENTIALS K-13). */
export function plainSecrets(env: Readonly<Record<string, string | undefined>>): PlainSecrets {
  return {
    async read(place) {
      if (env['MILLRACE_STAGE']) {
        const hint = 'file: and env: are for local use (K-13)'
        throw new MillraceError('config-invalid', `${placeName(place)}: a stage takes secrets from its store`, { hint })
      }
      return 'env' in place ? ofVariable(place.env, env[place.env]) : await ofFile(place.file)
    },
  }
}

function ofVariable(name: string, value: string | undefined): PlainSecret {
  const place = { env: name }
  if (value === undefined) {
    const hint = `set ${name} for the process, and start it anew`
    throw new MillraceError('secret-missing', `${placeName(place)} is not set`, { hint })
  }
  return versionOf(place, Buffer.from(value))
}

async function ofFile(path: string): Promise<PlainSecret> {
  const place = { file: path }
  const bytes = await bytesOf(path).catch((cause: unknown) => {
    throw cause instanceof MillraceError ? cause : unreadable(place, cause)
  })
  return versionOf(place, bytes)
}

/** A pipe with no writer must not hold the open: it is opened without waiting, and refused. */
async function bytesOf(path: string): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    if (!(await file.stat()).isFile()) throw invalid({ file: path }, 'is no regular file')
    const bytes = Buffer.alloc(secretBytesMax + 1)
    let length = 0
    for (;;) {
      const { bytesRead } = await file.read(bytes, length, bytes.length - length)
      length += bytesRead
      if (bytesRead === 0 || length > secretBytesMax) return bytes.subarray(0, length)
    }
  } finally {
    await file.close()
  }
}

function versionOf(place: SecretPlace, bytes: Buffer): PlainSecret {
  if (bytes.length > secretBytesMax) throw invalid(place, `is larger than ${secretBytesMax} bytes`)
  const text = textOf(place, bytes)
  if (text.trim() === '') {
    const hint = 'write the secret there'
    throw new MillraceError('secret-empty', `${placeName(place)} holds nothing`, { hint })
  }
  return { versionId: createHash('sha256').update(bytes).digest('hex').slice(0, 32), text }
}

function textOf(place: SecretPlace, bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw invalid(place, 'is not UTF-8')
  }
}

function unreadable(place: SecretPlace, cause: unknown): MillraceError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  if (code === 'ENOENT' || code === 'ENOTDIR') {
    const hint = 'a path is taken from the folder of the file that names it'
    return new MillraceError('secret-missing', `${placeName(place)} is not there`, { hint, cause })
  }
  if (code === 'EACCES' || code === 'EPERM') {
    const hint = `give it to the user that Millrace runs as: chown USER ${placeName(place)} && chmod 600 ${placeName(place)}`
    return new MillraceError('secret-denied', `${placeName(place)} may not be read by this user`, { hint, cause })
  }
  return invalid(place, `cannot be read: ${code}`)
}

function invalid(place: SecretPlace, why: string): MillraceError {
  return new MillraceError('secret-invalid', `${placeName(place)} ${why}`, {
    hint: 'a secret is one small text in UTF-8',
  })
}
