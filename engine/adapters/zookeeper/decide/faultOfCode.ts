import { MillraceError } from '../../../errors.ts'
import type { Refused } from '../../../ports/coordinator.ts'

/** ZooKeeper's error numbers that mean something here. */
export const zookeeperError = {
  connectionLoss: -4,
  noNode: -101,
  noAuth: -102,
  badVersion: -103,
  noChildrenForEphemerals: -108,
  nodeExists: -110,
  notEmpty: -111,
  sessionExpired: -112,
  authFailed: -115,
  saslRequired: -124,
} as const

const refusals = new Map<number, Refused['why']>([
  [zookeeperError.noNode, 'missing'],
  [zookeeperError.badVersion, 'changed'],
  // Nothing hangs below what goes with a session.
  [zookeeperError.noChildrenForEphemerals, 'missing'],
  [zookeeperError.nodeExists, 'exists'],
  [zookeeperError.notEmpty, 'not-empty'],
])

/** Why an operation was refused in order; null: the number is a fault. */
export function refusalOf(code: number): Refused['why'] | null {
  return refusals.get(code) ?? null
}

/** What is said of an operation, `what` (its name and path), that ended with ZooKeeper's number (C-70, C-79). */
export function faultOfCode(code: number, what: string, kind: 'read' | 'write'): MillraceError {
  switch (code) {
    case zookeeperError.noAuth:
      return new MillraceError('coordination-denied', `${what}: ZooKeeper refuses it: the document is not ours`, {
        hint: 'Check the secret of coordination.auth and the access list of the chroot.',
      })
    case zookeeperError.authFailed:
      return new MillraceError('coordination-denied', `${what}: ZooKeeper refuses our login`, {
        hint: 'Check the secret of coordination.auth.',
      })
    case zookeeperError.saslRequired:
      return new MillraceError('coordination-denied', `${what}: this ZooKeeper serves nobody without SASL`, {
        hint: 'Millrace logs in by digest: set sessionRequireClientSASLAuth=false there, or name another ZooKeeper.',
      })
    case zookeeperError.sessionExpired:
      return new MillraceError('session-lost', `${what}: the session has expired`)
    default:
      return unanswered(
        kind,
        code === zookeeperError.connectionLoss ? `${what}: no answer` : `${what}: ZooKeeper's error ${code}`,
      )
  }
}

/** A read does nothing, so one that was not answered was certainly not done. */
export function unanswered(kind: 'read' | 'write', message: string): MillraceError {
  if (kind === 'read') return new MillraceError('coordination-unreachable', message, { retryable: true })
  return new MillraceError('outcome-unknown', message, { retryable: true })
}
