import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { stoppedAgainMs, stoppedMsMax } from './limits.ts'

/**
 * Resolves when no thread of the process runs any more: SIGSTOP takes effect when the scheduler gets to each, and on a
 * busy machine a broker still answers meanwhile. Where there is no `/proc`, and when the process is gone, at once.
 */
export async function untilStopped(pid: number): Promise<void> {
  for (const end = performance.now() + stoppedMsMax; !isStopped(pid); await delay(stoppedAgainMs)) {
    if (performance.now() > end) throw new Error(`process ${pid} is not stopped after ${stoppedMsMax} ms`)
  }
}

function isStopped(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/task`).every(thread => {
      // `12 (name) T …`: the name may hold anything, a bracket too.
      const text = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')
      return text.charAt(text.lastIndexOf(')') + 2) === 'T'
    })
  } catch (error) {
    // ESRCH: gone between the two reads.
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH')) return true
    throw error
  }
}
