import { spawn } from 'node:child_process'
import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { RigError } from './errors.ts'
import { drainMs, stopTimeoutMs, tailLinesMax } from './limits.ts'
import type { Exit, RigContext } from './part.ts'
import { untilStopped } from './stopped.ts'

export type ChildSpec = {
  /** The running name; the log is `<dir>/<name>.log`, appended to when the child is started again. */
  name: string
  command: string
  args: string[]
  /** In place of the owner's environment. */
  env?: NodeJS.ProcessEnv
  cwd?: string
  /** The line of the output that means ready; without it a child is ready at once. */
  ready?: RegExp
}

export interface Child {
  readonly pid: number
  readonly log: string
  /** The line that matched. Rejects with `rig-start` or `rig-port` when the process ends before it. */
  readonly ready: Promise<string>
  readonly exited: Promise<Exit>
  /** Whether `stop` or `kill` was called: an end without it is a death (`rig-died`). */
  readonly asked: boolean
  /** The last lines of the output, at most 40. */
  tail(): string[]
  stop(): Promise<void>
  kill(): Promise<void>
  pause(): Promise<void>
  resume(): void
}

/**
 * Starts a process in a group of its own that cannot become an orphan.
 * The race: the owner is killed between `spawn` and the guard's line. So the group leader is first a bash that reads one
 * line; it is written only when the guard knows the group, and at end of file (no owner) bash ends. Then `exec` makes
 * the same process the real command, with its standard input closed. `--norc`: a bash whose standard input is a socket,
 * as Node's pipes are, takes itself for a remote shell and reads the user's start file.
 */
export async function startChild(spec: ChildSpec, ctx: Pick<RigContext, 'dir' | 'guard' | 'signal'>): Promise<Child> {
  ctx.signal.throwIfAborted()
  const log = join(ctx.dir, `${spec.name}.log`)
  const began = performance.now()
  const child = spawn('bash', ['--norc', '-c', 'read -r && exec "$@" </dev/null', 'rig', spec.command, ...spec.args], {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: spec.env ?? process.env,
    cwd: spec.cwd,
  })
  const { pid } = child
  if (pid === undefined) {
    const cause = await new Promise<Error>(resolve => child.once('error', resolve))
    throw new RigError('rig-start', `${spec.name}: ${cause.message}`, { part: spec.name, cause })
  }
  const out = openOutput(log, spec.ready ?? null)
  out.read(child.stdout)
  out.read(child.stderr)
  child.stdin.on('error', () => {})

  let asked = false
  const exited = new Promise<Exit>(resolve => {
    child.once('exit', (code, signal) => {
      // A grandchild is of the same group and must not outlive its leader.
      send(pid, 'SIGKILL')
      const closed = new Promise<void>(done => child.once('close', () => done()))
      const drained = new Promise<void>(done => setTimeout(done, drainMs).unref())
      Promise.race([closed, drained]).then(() => {
        ctx.guard.remove(pid)
        out.end(() => endedError(spec.name, { code, signal }, performance.now() - began, log, out))
        resolve({ code, signal })
      })
    })
  })
  const end = async (signal: NodeJS.Signals) => {
    asked = true
    send(pid, signal)
    if (signal === 'SIGTERM') send(pid, 'SIGCONT')
    const late = setTimeout(() => send(pid, 'SIGKILL'), stopTimeoutMs)
    await exited
    clearTimeout(late)
  }
  const kill = () => end('SIGKILL')
  const onAbort = () => void kill()
  ctx.signal.addEventListener('abort', onAbort, { once: true })
  exited.then(() => ctx.signal.removeEventListener('abort', onAbort))

  await ctx.guard.add(pid, exited)
  child.stdin.end('go\n')
  return {
    pid,
    log,
    ready: out.ready,
    exited,
    get asked() {
      return asked
    },
    tail: out.tail,
    stop: () => end('SIGTERM'),
    kill,
    pause() {
      process.kill(-pid, 'SIGSTOP')
      return untilStopped(pid)
    },
    resume: () => void process.kill(-pid, 'SIGCONT'),
  }
}

/** A signal to the group; a group that has already gone is what the sender wants. */
function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/**
 * The output of a process: into the log file at once (a line must be there when the owner dies a moment later), and by
 * lines to whoever waits for readiness.
 */
function openOutput(log: string, pattern: RegExp | null) {
  const file = openSync(log, 'a', 0o600)
  const lines: string[] = []
  let trouble: string | null = null
  let taken: string | null = null
  const { promise: ready, resolve, reject } = Promise.withResolvers<string>()
  ready.catch(() => {})
  if (pattern === null) resolve('')
  let open = true
  const read = (stream: Readable) => {
    let rest = ''
    stream.setEncoding('utf8')
    const take = (line: string) => {
      lines.push(line)
      if (lines.length > tailLinesMax) lines.shift()
      if (trouble === null && troubleLine.test(line)) trouble = line
      if (taken === null && portTaken.test(line)) taken = line
      if (pattern?.test(line)) resolve(line)
    }
    stream.on('data', (text: string) => {
      if (open) writeSync(file, text)
      const pieces = (rest + text).split('\n')
      rest = pieces.pop() ?? ''
      for (const line of pieces) take(line)
    })
    stream.on('end', () => {
      if (rest !== '') take(rest)
    })
    stream.on('error', () => {})
  }
  return {
    ready,
    read,
    tail: () => [...lines],
    trouble: () => trouble,
    taken: () => taken,
    /** Whoever still waits gets the error. */
    end(error: () => RigError) {
      open = false
      closeSync(file)
      reject(error())
    },
  }
}

const portTaken = /Address already in use|EADDRINUSE/
/** A server that fails says a great deal about its orderly end; the first of these lines is worth more than the last 40. */
const troubleLine = /\b(ERROR|FATAL)\b|^Error\b|^Exception in thread/

function endedError(
  name: string,
  exit: Exit,
  afterMs: number,
  log: string,
  out: { tail(): string[]; trouble(): string | null; taken(): string | null },
): RigError {
  const [trouble, taken] = [out.trouble(), out.taken()]
  const more = { part: name, log, lines: out.tail() }
  if (taken !== null) return new RigError('rig-port', `${name} met a taken port: ${taken}`, more)
  const how = exit.signal === null ? `exit ${exit.code}` : exit.signal
  const first = trouble === null ? '' : `; its first trouble: ${trouble}`
  const message = `${name} ended (${how}) after ${(afterMs / 1_000).toFixed(1)} s, before it was ready${first}`
  return new RigError('rig-start', message, more)
}
