import type { Coordinator, Phase } from '../../engine/ports/coordinator.ts'

/** Ends when `one` is in that phase, at once if it is. */
export function phaseOf(one: Coordinator, wanted: Phase): Promise<void> {
  if (one.state().phase === wanted) return Promise.resolve()
  return new Promise(resolve => {
    const off = new AbortController()
    one.changed(phase => {
      if (phase !== wanted) return
      off.abort()
      resolve()
    }, off.signal)
  })
}
