import { MillraceError } from '../errors.ts'
import type { Coordinator } from '../ports/coordinator.ts'

/** Before the first session: nothing is answered, nothing is written. */
export function noCoordinator(): Coordinator {
  const none = async (): Promise<never> => {
    throw new MillraceError('coordination-unreachable', 'there is no session with the coordination service yet', {
      retryable: true,
    })
  }
  return {
    state: () => ({ session: null, timeoutMs: 0, phase: 'connecting', trouble: null }),
    ...{ changed() {}, watch() {}, async close() {} },
    ...{ read: none, write: none, beat: none, children: none },
  }
}
