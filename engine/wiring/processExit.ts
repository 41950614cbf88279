import { type FaultCode, MillraceError } from '../errors.ts'

/** What a process of a fleet ends with (DESIGN §9); those of commands are in `cli/exitCode.ts`. */
export const processExit = {
  clean: 0,
  fault: 1,
  /** The stop took too long, and what was in flight was given up. */
  aborted: 70,
  /** What it needs for its start was not there in time: to be started again (C-64). */
  unreached: 75,
  /** A configuration that a start anew does not mend. */
  refused: 78,
} as const

const refusals: ReadonlySet<FaultCode> = new Set(['config-invalid', 'coordination-required'])
const notReached: ReadonlySet<FaultCode> = new Set(['coordination-unreachable', 'kafka-unreachable', 'kafka-link-lost'])

/** `error` null: it ended in order. `aborted`: the stop took longer than it may. */
export function processExitOf(error: unknown, { aborted }: { aborted: boolean }): number {
  if (error instanceof MillraceError && refusals.has(error.code)) return processExit.refused
  if (aborted) return processExit.aborted
  if (error === null) return processExit.clean
  return error instanceof MillraceError && notReached.has(error.code) ? processExit.unreached : processExit.fault
}
