import { takeBack } from '../flow/window.ts'
import { shown } from './decide/partitionState.ts'
import { halt, type Run } from './run.ts'

/** The stream is closed while this stands; the promise ends it. */
export type Parked = { readonly over: Promise<void>; readonly end: () => void }

/**
 * One slow or broken partition never holds another's memory or turn (M-90): what its lane has never written is taken
 * back, and the stream is closed. At most five batches stay, and one of them shows when the trouble is over.
 */
export function park(run: Run): void {
  if (run.parked !== null || run.halt.signal.aborted) return
  const { promise, resolve } = Promise.withResolvers<void>()
  run.parked = { over: promise, end: resolve }
  // An answer that is on its way to the reader in this turn must not be sent behind the hole: aborted, it is dropped.
  run.reading.abort()
  const [first] = run.lane.recall()
  if (first) takeBack(run.unit.window, first)
}

export function resume(run: Run): void {
  run.parked?.end()
  run.parked = null
}

export async function untilResumed(run: Run): Promise<void> {
  if (run.parked !== null) await run.parked.over
}

/**
 * A stop does not wait for what a destination in trouble has not taken, nor for what may not be written any more: the
 * next run reads it again from the checkpoint, which stands before it (M-45). What may have been taken is waited for,
 * or it would be there twice.
 */
export function giveUpUntaken(run: Run): void {
  if (run.ctx.stop.aborted && isHeldUp(run) && !run.lane.inDoubt()) halt(run)
}

/** The destination takes nothing now, or the lease lets nothing go (C-5). */
export function isHeldUp(run: Run): boolean {
  return run.lane.trouble() !== null || !run.ctx.mayWrite()
}

/** Called now and then: parks a run whose lane is in trouble for a while, and lets it go on when that is over. */
export function watchLane(run: Run, nowMs: number): void {
  const trouble = run.lane.trouble()
  if (run.ctx.stop.aborted) giveUpUntaken(run)
  else if (trouble === null) resume(run)
  else if (shown(trouble, nowMs)) park(run)
}
