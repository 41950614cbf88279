import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { nodeFlags } from '../../cli/nodeFlags.ts'

export type JsonLine = Record<string, unknown> & { type: string }
export type Ended = { code: number | null; stdout: string; stderr: string; lines: JsonLine[] }
export type RunningMillrace = {
  child: ChildProcess
  ended: Promise<Ended>
  /** The first line of stdout that fits, also one that has come; rejects when the process ends without one. */
  line(fits: (line: JsonLine) => boolean): Promise<JsonLine>
  /** The first line of the log on stderr that fits; like `line`. */
  logged(fits: (line: JsonLine) => boolean): Promise<JsonLine>
}

/** Of each stream, in the error of a test that took too long. */
const saidLinesMax = 40

const main = join(import.meta.dirname, '../../cli/start.mjs')

/**
 * The command as users run it, with its stdout in a pipe. It never outlives the signal of the test. `around`: a command
 * that becomes the given one, in a place of its own say.
 */
export function millrace(
  args: string[],
  signal: AbortSignal,
  env: Record<string, string> = {},
  around: readonly string[] = [],
): RunningMillrace {
  const [command = '', ...rest] = [...around, process.execPath, ...nodeFlags, main, ...args]
  const child = spawn(command, rest, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    signal,
    killSignal: 'SIGKILL',
  })
  const out = linesOf(child.stdout)
  const err = linesOf(child.stderr)
  const ended = new Promise<Ended>((resolve, reject) => {
    // Also when the time of the test is over: what it said last tells where it stood.
    child.once('error', cause => {
      const said = [...out.text().split('\n').slice(-saidLinesMax), ...err.text().split('\n').slice(-saidLinesMax)]
      reject(new Error(`${cause.message}; it had said:\n${said.join('\n')}`, { cause }))
    })
    child.once('close', code => resolve({ code, stdout: out.text(), stderr: err.text(), lines: out.lines }))
  })
  return {
    child,
    ended,
    line: fits => out.first(fits, ended),
    logged: fits => err.first(fits, ended),
  }
}

/** The lines that come, and who waits for one of them. */
function linesOf(input: Readable) {
  const texts: string[] = []
  const lines: JsonLine[] = []
  const waiting = new Set<() => void>()
  createInterface({ input }).on('line', text => {
    texts.push(text)
    if (text.startsWith('{')) lines.push(JSON.parse(text))
    for (const look of waiting) look()
  })
  return {
    lines,
    text: () => texts.join('\n'),
    first: (fits: (line: JsonLine) => boolean, ended: Promise<Ended>) =>
      new Promise<JsonLine>((resolve, reject) => {
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

/** The values of one measure of a running mirror, by its labels as they stand in the text. */
export async function measured(running: RunningMillrace, name: string): Promise<Map<string, number>> {
  const { url } = await running.logged(line => line['msg'] === 'listening')
  const text = await (await fetch(`${url}/metrics`)).text()
  const found = [...text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)].filter(([, of]) => of === name)
  return new Map(found.map(([, , labels = '', value]) => [labels, Number(value)]))
}
