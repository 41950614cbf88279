import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Exit, Process, ProcessEvents, Processes } from '../../ports/processes.ts'

/** How a process of each group is started: what stands behind `node`, and its environment. */
export type Launch = { args: readonly string[]; env: Readonly<Record<string, string | undefined>> }

/**
 * Children of this process (D-42). Each has a channel to its parent: when that closes, the child stops in order, so
 * that a parent which is killed leaves no orphans.
 */
export function localProcesses(launchOf: (group: string) => Launch): Processes {
  return {
    start(group, on) {
      const { args, env } = launchOf(group)
      // A group of its own: Ctrl-C at a terminal reaches the parent only, which stops its children in its order.
      const child = spawn(process.execPath, [...args], {
        stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
        env: { ...env },
        detached: true,
      })
      return processOf(child, on)
    },
  }
}

function processOf(child: ChildProcess, on: ProcessEvents): Process {
  const { promise: exited, resolve } = Promise.withResolvers<Exit>()
  for (const stream of [child.stdout, child.stderr]) {
    if (stream) createInterface({ input: stream }).on('line', on.line)
  }
  child.on('message', on.told)
  child.once('error', error => resolve({ code: null, signal: null, error: error.message }))
  // After its pipes are read to their end: what it said last tells why.
  child.once('close', (code, signal) => resolve({ code, signal, error: null }))
  return {
    pid: child.pid ?? null,
    exited,
    stop: () => void child.kill('SIGTERM'),
    kill: () => void child.kill('SIGKILL'),
    hangUp: () => void child.kill('SIGHUP'),
  }
}
