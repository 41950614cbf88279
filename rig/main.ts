import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { listCache } from './cacheCommand.ts'
import { type Command, parseCommand } from './command.ts'
import { doctor } from './doctor.ts'
import { describeError, exitOf, type RigError } from './errors.ts'
import { sayKept } from './keptFolder.ts'
import { parentAgainMs } from './limits.ts'
import { parts } from './parts.ts'
import { progressAt } from './progress.ts'
import { type RigSet, rig, type Wishes } from './set.ts'

/** Run folders that stay; said after everything else. */
const kept: string[] = []

type SetCommand = Extract<Command, { kind: 'set' }>

/** the first SIGINT or SIGTERM ends the set, a second one ends at once (the guard does the rest). */
function stopSignal(): AbortSignal {
  const stop = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (stop.signal.aborted) process.exit(128 + constants.signals[name])
      stop.abort(new Error(name))
    })
  }
  if (process.env['npm_lifecycle_event'] !== undefined) endWithParent(stop)
  return stop.signal
}

/**
 * npm starts a shell that starts us, and the shell hands no signal on: whoever ends npm would leave the set behind.
 * Whether the parent has changed can only be asked.
 */
function endWithParent(stop: AbortController): void {
  const parent = process.ppid
  setInterval(() => {
    if (process.ppid !== parent) stop.abort(new Error('npm has ended'))
  }, parentAgainMs).unref()
}

async function runSet(command: SetCommand, signal: AbortSignal): Promise<number> {
  const wishes: Wishes = {}
  for (const { part, key, words } of command.wishes) {
    const wanted = parts[part]?.(words)
    if (wanted !== undefined) wishes[key] = wanted
  }
  const progress = progressAt(process.stderr)
  let dead: RigError | null = null
  try {
    await using set = await rig(wishes, { signal, progress: progress.line, kept: dir => kept.push(dir) })
    progress.stop()
    set.died.then(error => {
      dead = error
      process.stderr.write(`${describeError(error)}\n`)
    })
    if (command.run !== null) return await runCommand(command.run, set, signal)
    process.stdout.write(command.json ? `${JSON.stringify(set.addresses)}\n` : table(set))
    await aborted(signal)
  } catch (error) {
    progress.stop()
    if (!signal.aborted) throw error
  }
  return dead === null ? 0 : exitOf(dead)
}

/** Runs what stands after `--` with the addresses; its exit code is ours. A stop signal is handed on and waited for. */
async function runCommand(run: string[], set: RigSet<Wishes>, signal: AbortSignal): Promise<number> {
  const [command = '', ...args] = run
  const env = { ...process.env, MILLRACE_RIG: JSON.stringify(set.addresses) }
  const child = spawn(command, args, { stdio: 'inherit', env })
  const onAbort = () => void child.kill('SIGTERM')
  signal.addEventListener('abort', onAbort, { once: true })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, by) => resolve(code ?? 128 + (by === null ? 0 : constants.signals[by])))
  })
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise(resolve => {
    // An abort listener alone does not keep the process; the pipes of the parts do, but all of them may die.
    const alive = setInterval(() => {}, 2 ** 30)
    signal.addEventListener(
      'abort',
      () => {
        clearInterval(alive)
        resolve()
      },
      { once: true },
    )
  })
}

function table(set: RigSet<Wishes>): string {
  const rows: string[][] = []
  for (const running of Object.values(set.parts)) {
    for (const [field, value] of Object.entries(running.address as Record<string, unknown>))
      if (typeof value === 'string') rows.push([running.name, field, value])
    rows.push([running.name, 'log', running.log])
  }
  const width = (column: number) => Math.max(...rows.map(row => row[column]?.length ?? 0))
  const [first, second] = [width(0), width(1)]
  return rows
    .map(([name = '', field = '', value]) => `${name.padEnd(first)}  ${field.padEnd(second)}  ${value}\n`)
    .join('')
}

async function main(argv: string[]): Promise<number> {
  const command = parseCommand(argv, Object.keys(parts))
  if (command.kind === 'cache') return listCache(command.prune)
  const signal = stopSignal()
  return command.kind === 'doctor' ? doctor(command.fresh, signal) : runSet(command, signal)
}

// A reader that has gone (`| head -1`) is no fault of the set; it runs on until it is ended.
process.stdout.on('error', () => {})
process.exitCode = await main(process.argv.slice(2)).catch(error => {
  process.stderr.write(`${describeError(error)}\n`)
  return exitOf(error)
})
for (const dir of kept) sayKept(dir)
process.exit()
