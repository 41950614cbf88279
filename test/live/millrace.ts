import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { nodeFlags } from '../../cli/nodeFlags.ts'

export type JsonLine = Record<string, unknown> & { type: string }
export type Ended = { code: number | null; stdout: string; stderr: string; lines: JsonLine[] }
export type RunningMillrace = {
  child: ChildProcess
  ended: Promise<Ended>
  /** The first line of stdout that fits, also one that has come; rejects when the process ends without one. */
  line(fits: (line: JsonLine) => boolean): Promise<JsonLine>
}

const main = join(import.meta.dirname, '../../cli/start.mjs')

/** The command as users run it, with its stdout in a pipe. It never outlives the signal of the test. */
export function millrace(args: string[], signal: AbortSignal): RunningMillrace {
  const child = spawn(process.execPath, [...nodeFlags, main, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    signal,
    killSignal: 'SIGKILL',
  })
  const texts: string[] = []
  const lines: JsonLine[] = []
  const waiting = new Set<() => void>()
  let stderr = ''
  child.stderr.on('data', data => {
    stderr += data
  })
  createInterface({ input: child.stdout }).on('line', text => {
    texts.push(text)
    if (text.startsWith('{')) lines.push(JSON.parse(text))
    for (const look of waiting) look()
  })
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', code => resolve({ code, stdout: texts.join('\n'), stderr, lines }))
  })
  return {
    child,
    ended,
    line: fits =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = lines.find(fits)
          if (!found) return
          waiting.delete(look)
          resolve(found)
        }
        waiting.add(look)
        look()
        ended.then(end => reject(new Error(`it ended with ${end.code}:\n${end.stdout}\n${end.stderr}`)), reject)
      }),
  }
}
