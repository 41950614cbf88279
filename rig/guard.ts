import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { RigError } from './errors.ts'
import type { Exit } from './part.ts'

/** The owner's side of `guard.sh`: whatever happens to the owner, the guard ends what is listed here. */
export interface Guard {
  /** Resolves once the guard's pipe has the line; the process may begin its work only after that (child.ts). */
  add(group: number, exited: Promise<Exit>): Promise<void>
  /** After the end of the group. */
  remove(group: number): void
  /** A folder that must not outlive the owner; `keep` takes it back. */
  removeAtEnd(path: string): Promise<void>
  keep(path: string): Promise<void>
  /** The ends of all groups that are listed now. */
  exits(): Promise<Exit>[]
  /** Tells the guard that nothing more comes, and waits for its end. */
  end(): Promise<void>
}

/** Starts the guard in a group of its own: a Ctrl-C at the terminal must not reach it. */
export async function startGuard(): Promise<Guard> {
  const script = fileURLToPath(new URL('guard.sh', import.meta.url))
  const guard = spawn('bash', ['--norc', script], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  const ended = new Promise<void>(resolve => guard.once('exit', () => resolve()))
  await new Promise<void>((resolve, reject) => {
    guard.once('spawn', resolve)
    guard.once('error', cause =>
      reject(new RigError('rig-tool-missing', 'bash cannot be started; it guards what the rig starts', { cause })),
    )
  })
  guard.unref()
  const groups = new Map<number, Promise<Exit>>()
  const { stdin } = guard
  // A guard that somebody killed: writing fails with EPIPE, and the parts are still ended by their owner.
  stdin.on('error', () => {})
  const tell = (line: string) => new Promise<void>(resolve => stdin.write(`${line}\n`, () => resolve()))
  return {
    add(group, exited) {
      groups.set(group, exited)
      return tell(`+ ${group}`)
    },
    remove(group) {
      groups.delete(group)
      tell(`- ${group}`)
    },
    removeAtEnd: path => tell(`d ${path}`),
    keep: path => tell(`k ${path}`),
    exits: () => [...groups.values()],
    async end() {
      guard.ref()
      stdin.end()
      await ended
    },
  }
}
