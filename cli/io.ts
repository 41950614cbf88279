import { machineClock } from '../engine/adapters/local/clock.ts'
import type { Clock } from '../engine/ports/clock.ts'

export type Out = { write(text: string): unknown; isTTY?: boolean; rows?: number }

/** What a command that asks a fleet has of its process; a test hands in its own. */
export type Io = {
  stdout: Out
  stderr: Out
  env: Readonly<Record<string, string | undefined>>
  clock: Clock
  /** Standard input, to its end. */
  input(): Promise<Uint8Array>
  /** Aborts at the first Ctrl-C or SIGTERM from now on; the second one ends the process. Or nobody reads any more. */
  interrupted(): AbortSignal
}

export function processIo(): Io {
  return {
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    clock: machineClock(),
    async input() {
      const pieces: Buffer[] = []
      for await (const piece of process.stdin) pieces.push(piece as Buffer)
      return Buffer.concat(pieces)
    },
    interrupted() {
      const stop = new AbortController()
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
      process.stdout.on('error', () => stop.abort())
      return stop.signal
    },
  }
}
