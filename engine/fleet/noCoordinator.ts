import { type Fault, MillraceError } from '../errors.ts'
import type { Coordinator } from '../ports/coordinator.ts'

/** Before the first session: nothing is answered, nothing is written. `trouble`: why there is none, where that is known. */
export function noCoordinator(trouble: () => Fault | null = () => null): Coordinator {
  const none = async (): Promise<never> => {
    const { code, message, hint } = trouble() ?? unknown
    throw new MillraceError(code, message, { retryable: true, hint })
  }
  return {
    state: () => ({ session: null, timeoutMs: 0, phase: 'connecting', trouble: trouble() }),
    ...{ changed() {}, watch() {}, async close() {} },
    ...{ read: none, write: none, beat: none, children: none },
  }
}

const unknown: Fault = {
  code: 'coordination-unreachable',
  message: 'there is no session with the coordination service yet',
  hint: null,
}
