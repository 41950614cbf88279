import { type FaultCode, MillraceError } from '../errors.ts'
import { processExit } from '../fleet/decide/exits.ts'

const refusals: ReadonlySet<FaultCode> = new Set(['config-invalid', 'coordination-required'])
const notReached: ReadonlySet<FaultCode> = new Set(['coordination-unreachable', 'kafka-unreachable', 'kafka-link-lost'])

/** `error` null: it ended in order. `aborted`: the stop took longer than it may. */
export function processExitOf(error: unknown, { aborted }: { aborted: boolean }): number {
  if (error instanceof MillraceError && refusals.has(error.code)) return processExit.refused
  if (aborted) return processExit.aborted
  if (error === null) return processExit.clean
  return error instanceof MillraceError && notReached.has(error.code) ? processExit.unreached : processExit.fault
}
