import { MillraceError } from '../errors.ts'
import type { OpenCoordinator } from '../ports/coordinator.ts'

/** Counts the writes of all sessions of a process that were sent and not answered (C-70). */
export function unknownOutcomes(open: OpenCoordinator): { open: OpenCoordinator; count(): number } {
  let count = 0
  const noted = (error: unknown): never => {
    if (error instanceof MillraceError && error.code === 'outcome-unknown') count++
    throw error
  }
  return {
    count: () => count,
    open() {
      const session = open()
      return { ...session, write: ops => session.write(ops).catch(noted) }
    },
  }
}
