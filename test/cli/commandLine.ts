import { CommanderError } from 'commander'
import type { Out } from '../../cli/io.ts'
import { programOf } from '../../cli/program.ts'
import { machineClock } from '../../engine/adapters/local/clock.ts'
import type { Clock } from '../../engine/ports/clock.ts'

export type Ran = { code: number; out: string; err: string }
export type Running = {
  /** Null: none in the environment. */
  api?: string | null
  token?: string | null
  input?: string
  clock?: Clock
  /** Ctrl-C. */
  stop?: AbortSignal
  /** As wide and high as one; else a pipe. */
  terminal?: { rows: number }
  /** Called at each piece of output, with all of it. */
  wrote?(out: string): void
}

/** The command in this process, over the network to whatever API it is told of. */
export async function commandLine(args: readonly string[], how: Running = {}): Promise<Ran> {
  const { api = null, token = null, input = '', terminal, stop = new AbortController().signal } = how
  const said = { out: '', err: '' }
  const stream = (name: 'out' | 'err'): Out => ({
    ...(terminal ? { isTTY: true, rows: terminal.rows } : {}),
    write(text) {
      said[name] += text
      if (name === 'out') how.wrote?.(said.out)
    },
  })
  let code = 0
  const io = {
    stdout: stream('out'),
    stderr: stream('err'),
    env: {
      ...(api === null ? {} : { MILLRACE_API: api }),
      ...(token === null ? {} : { MILLRACE_TOKEN: token }),
    },
    clock: how.clock ?? machineClock(),
    input: async () => new TextEncoder().encode(input),
    interrupted: () => stop,
  }
  const program = programOf({
    io,
    async exit(with_) {
      code = with_
    },
  })
  try {
    await program.parseAsync([...args], { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    code = error.exitCode === 0 ? 0 : 2
  }
  return { code, ...said }
}
