import { MillraceError } from '../../errors.ts'

/**
 * What the machine answered, in our words. `what` says what was tried and where: `put fleet/state.json in /var/lib/x`.
 */
export function storeFault(what: string, cause: unknown): MillraceError {
  if (cause instanceof MillraceError) return cause
  const code = errnoOf(cause)
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
    case 'EFBIG':
      return new MillraceError('store-full', `${what}: ${fullWords[code]} (${code})`, {
        retryable: true,
        hint: 'free some space there; what was there before stands',
        cause,
      })
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return denied(`${what}: ${code === 'EROFS' ? 'the disk is read-only' : 'this user may not'} (${code})`, cause)
    default:
      return away(`${what}: ${code || (cause instanceof Error ? cause.message : String(cause))}`, cause)
  }
}

const fullWords = {
  ENOSPC: 'no space is left on the disk',
  EDQUOT: 'the quota is used up',
  EFBIG: 'larger than a file may be for this process',
}

export function denied(message: string, cause?: unknown): MillraceError {
  const hint = 'the folder must belong to the user that Millrace runs as; who only reads must be in its group'
  return new MillraceError('store-denied', message, { hint, cause })
}

export function away(message: string, cause?: unknown): MillraceError {
  return new MillraceError('store-away', message, {
    retryable: true,
    hint: 'is its disk mounted? A new one is made by mkdir -p',
    cause,
  })
}

/** A key that is the folder of another (`a` and `a/b`): a bucket takes both, a folder cannot. */
export function notBoth(key: string, cause?: unknown): MillraceError {
  const message = `the key ${JSON.stringify(key)} stands where a folder is needed, or is a folder itself`
  return new MillraceError('config-invalid', message, { hint: 'a key is never the folder of another key', cause })
}

export function errnoOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}
