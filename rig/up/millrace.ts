import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { nodeFlags } from '../../cli/nodeFlags.ts'

export type JsonLine = Record<string, unknown>

const main = join(import.meta.dirname, '../../cli/start.mjs')

/** Of what it said on stderr, when that is shown only at a bad end. */
const saidChunksMax = 200

/**
 * Runs the real command, its stdout read line by line, and with `onLog` and `quiet` its log too. Resolves with its exit
 * code. What it says on stderr is passed on, with `quiet` only when it ends with another code than 0, and then the last
 * of it. When `stop` is aborted it gets a SIGTERM. It does not outlive us: when nobody reads its lines any more, it
 * stops by itself.
 */
export async function runMillrace(
  args: string[],
  how: {
    onLine: (line: JsonLine) => void
    onLog?: ((line: JsonLine) => void) | null
    quiet: boolean
    onPid?: (pid: number) => void
  },
  stop: AbortSignal,
): Promise<number> {
  stop.throwIfAborted()
  const said: Buffer[] = []
  const child = spawn(process.execPath, [...nodeFlags, main, ...args], {
    // By the channel it sees that we are gone, however that came.
    stdio: ['ignore', 'pipe', how.quiet ? 'pipe' : 'inherit', 'ipc'],
    // A Ctrl-C of the terminal is for us; we stop it in our order.
    detached: true,
  })
  if (child.pid !== undefined) how.onPid?.(child.pid)
  const end = () => void child.kill('SIGTERM')
  stop.addEventListener('abort', end, { once: true })
  child.stderr?.on('data', data => {
    if (said.push(data) > saidChunksMax) said.shift()
  })
  const { onLog } = how
  if (onLog && child.stderr) createInterface({ input: child.stderr }).on('line', text => tellLog(text, onLog))
  if (child.stdout === null) throw new Error('the command has no stdout')
  const lines = createInterface({ input: child.stdout })
  lines.on('line', text => {
    if (text.startsWith('{')) how.onLine(JSON.parse(text))
  })
  try {
    const [code] = await once(child, 'close')
    if (code !== 0) process.stderr.write(Buffer.concat(said))
    return code ?? 1
  } finally {
    stop.removeEventListener('abort', end)
    child.kill('SIGKILL')
  }
}

/** What is no line of the log comes from Node itself. */
function tellLog(text: string, onLog: (line: JsonLine) => void): void {
  if (text.startsWith('{')) onLog(JSON.parse(text))
}
