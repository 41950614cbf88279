import type { Writable } from 'node:stream'

/**
 * Ends when all that was written has been taken, or nobody reads any more, or `limit` says so: what a pipe has not
 * taken when the process exits is lost, and the last line is the one that counts.
 */
export function written(stream: Writable, limit?: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const end = () => resolve()
    if (limit?.aborted) return end()
    limit?.addEventListener('abort', end, { once: true })
    return void stream.write('', end)
  })
}
