import { MillraceError } from '../engine/errors.ts'

/** What a command that could not begin or go on ends with (DESIGN §9, MIRROR §3.5). */
export function exitCodeOf(error: unknown): number {
  if (!(error instanceof MillraceError)) return 1
  switch (error.code) {
    case 'config-invalid':
    case 'secret-empty':
    case 'secret-invalid':
    case 'secret-missing':
      return 2
    case 'kafka-login-refused':
    case 'kafka-not-authorized':
    case 'kafka-tls-refused':
    case 'secret-denied':
    case 'store-denied':
    case 'forbidden':
    case 'unauthenticated':
      return 3
    case 'kafka-link-lost':
    case 'kafka-unreachable':
    case 'not-found':
      return 4
    case 'api-unreachable':
    case 'coordination-unreachable':
    case 'no-leader':
    case 'outcome-unknown':
      return 12
    default:
      return 1
  }
}
