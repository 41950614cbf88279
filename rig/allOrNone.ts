import { setMaxListeners } from 'node:events'
import type { RigContext } from './part.ts'

/**
 * Starts all members of a part at once. One that fails ends the others at once: without it they might wait for their
 * quorum until the limit. Each start gets the context whose signal does that.
 */
export async function allOrNone<M, T>(
  ctx: RigContext,
  members: M[],
  start: (member: M, ctx: RigContext) => Promise<T>,
): Promise<T[]> {
  const failed = new AbortController()
  const own = { ...ctx, signal: AbortSignal.any([ctx.signal, failed.signal]) }
  setMaxListeners(0, own.signal)
  const starts = members.map(member => start(member, own))
  try {
    return await Promise.all(starts)
  } catch (error) {
    failed.abort(error)
    await Promise.allSettled(starts)
    throw error
  }
}
