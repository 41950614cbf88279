import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { nodeFlags } from '../../../cli/nodeFlags.ts'
import { root } from '../../tidy/tree.ts'

export type LogLine = Record<string, unknown> & { msg: string }
export type Exit = { code: number | null; signal: NodeJS.Signals | null }

/** A controller or a worker as a process of its own, as a container runs it (CLOUD D-42). */
export type RunningTask = {
  child: ChildProcess
  pid: number
  /** Where it listens, and its id in the fleet. */
  url: string
  id: string
  exited: Promise<Exit>
  /** All lines that it has said, in order. */
  lines: readonly LogLine[]
  text(): string
  /** The first line of its log that fits, also one that has come; rejects when it ends without one. */
  logged(fits: (line: LogLine) => boolean): Promise<LogLine>
  /** SIGTERM, and how it ended. */
  stop(): Promise<Exit>
  kill(): Promise<Exit>
  pause(): void
  resume(): void
  /** Lives, and is not paused. */
  awake(): boolean
}

/** Starts one and gives it when it listens. It never outlives the signal of the test. */
export async function startTask(
  group: 'controller' | 'worker',
  file: string,
  signal: AbortSignal,
  env: Record<string, string> = {},
): Promise<RunningTask> {
  const child = spawn(process.execPath, [...nodeFlags, join(root, 'tasks', group, 'main.ts')], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...process.env, MILLRACE_CONFIG: file, ...env },
  })
  const lines: LogLine[] = []
  const texts: string[] = []
  const waiting = new Set<() => void>()
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue
    createInterface({ input: stream }).on('line', text => {
      texts.push(text)
      if (text.startsWith('{')) lines.push(JSON.parse(text))
      for (const look of waiting) look()
    })
  }
  const exited = new Promise<Exit>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, by) => resolve({ code, signal: by }))
  })
  const end = () => void child.kill('SIGKILL')
  signal.addEventListener('abort', end, { once: true })
  // A test that failed ends us without an abort.
  const onExit = () => void child.kill('SIGKILL')
  process.once('exit', onExit)
  void exited.finally(() => {
    signal.removeEventListener('abort', end)
    process.off('exit', onExit)
  })
  const logged: RunningTask['logged'] = fits =>
    new Promise((resolve, reject) => {
      const look = () => {
        const found = lines.find(fits)
        if (!found) return
        waiting.delete(look)
        resolve(found)
      }
      waiting.add(look)
      look()
      exited.then(
        of => reject(new Error(`the ${group} ended with ${of.code ?? of.signal}:\n${texts.join('\n')}`)),
        reject,
      )
    })
  const asked = (by: NodeJS.Signals) => {
    child.kill(by)
    return exited
  }
  let paused = false
  const pause = (isPaused: boolean) => {
    paused = isPaused
    child.kill(paused ? 'SIGSTOP' : 'SIGCONT')
  }
  const listening = await logged(line => line.msg === 'listening')
  return {
    child,
    pid: child.pid ?? 0,
    url: String(listening['url']),
    id: String(listening['id']),
    exited,
    lines,
    text: () => texts.join('\n'),
    logged,
    stop: () => asked('SIGTERM'),
    kill: () => asked('SIGKILL'),
    pause: () => pause(true),
    resume: () => pause(false),
    awake: () => !paused && child.exitCode === null && child.signalCode === null,
  }
}
