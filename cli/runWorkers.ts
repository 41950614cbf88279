import { join } from 'node:path'
import { localProcesses } from '../engine/adapters/local/processes.ts'
import { MillraceError } from '../engine/errors.ts'
import { processExit } from '../engine/fleet/decide/exits.ts'
import { type Member, startSupervisor } from '../engine/fleet/supervisor.ts'
import { every } from '../engine/flow/every.ts'
import { supervisedWorkersMax, supervisorStopMs } from '../engine/limits.ts'
import type { Config } from '../engine/process/config.ts'
import { prettyLine, showSafe } from '../engine/process/pretty.ts'
import { coordinationRequired } from '../engine/wiring/coordination.ts'
import { processExitOf } from '../engine/wiring/processExit.ts'
import { startProcess } from '../engine/wiring/startProcess.ts'
import { taskEnv } from '../tasks/config.ts'
import { nodeFlags } from './nodeFlags.ts'
import { eraseLine, errorLines } from './output.ts'

const root = join(import.meta.dirname, '..')
const drawMs = 1_000

/**
 * `millrace run -c FILE --workers N`: the parent of one controller and N workers (CLOUD D-86). Gives the exit code.
 * Their lines go to stderr, pretty at a terminal; stdout tells what starts and ends, a JSON line each.
 */
export async function runWorkers(how: {
  file: string
  config: Config
  workers: number
  json: boolean
}): Promise<number> {
  const { file, config, json } = how
  if (config.coordination === null) {
    const error = coordinationRequired(file, '; or leave --workers out: one process needs none')
    process.stderr.write(`${errorLines(error)}\n`)
    return processExitOf(error, { aborted: false })
  }
  const atTerminal = process.stderr.isTTY === true
  const running = startProcess({
    svc: 'supervisor',
    fd: 2,
    stopTimeoutMs: supervisorStopMs,
    ...(atTerminal ? { show: line => `${eraseLine}${prettyLine(line)}` } : {}),
  })
  const { clock, log, life } = running
  const urls = new Map<string, string>()
  let refusal: string | null = null
  const say = (event: Record<string, unknown>) => json && process.stdout.write(`${JSON.stringify(event)}\n`)
  const supervised = startSupervisor({
    groups: [
      { group: 'controller', count: 1 },
      { group: 'worker', count: how.workers },
    ],
    processes: localProcesses(group => ({ args: [...nodeFlags, mainOf(group)], env: environment(file) })),
    clock,
    chance: Math.random,
    stop: life.stop,
    abort: life.abort,
    line: (member, text) => {
      process.stderr.write(`${atTerminal ? pretty(member, text) : text}\n`)
      refusal = refusalIn(text) ?? refusal
    },
    told: (member, message) => {
      const { url, id } = message as { url?: string; id?: string }
      if (url === undefined) return
      urls.set(nameOf(member), url)
      say({ type: 'started', at: at(clock.wallMs()), process: nameOf(member), pid: member.pid, url, id: id ?? null })
    },
    ended: (member, exit, againMs) => {
      urls.delete(nameOf(member))
      const how = exit.error ?? (exit.signal === null ? `exit code ${exit.code}` : exit.signal)
      log.warn(`${nameOf(member)} ended (${how}); it is started anew in ${againMs} ms`, { againMs })
      say({ type: 'ended', at: at(clock.wallMs()), process: nameOf(member), code: exit.code, signal: exit.signal })
    },
  })
  const onHangUp = () => supervised.hangUp()
  process.on('SIGHUP', onHangUp)
  // Whoever reads what starts and ends has gone, and counts on nothing that runs on (as in one process).
  process.stdout.on('error', () => life.begin(null))
  const draw = () => process.stderr.write(`${eraseLine}${statusLine(supervised.members(), urls)}`)
  const undraw = atTerminal ? every(clock, drawMs, draw) : () => {}
  const { code } = await supervised.done
  undraw()
  if (atTerminal) process.stderr.write(eraseLine)
  // Why all of it ended stands in the middle of what its processes have said.
  if (code === processExit.refused && refusal !== null) log.error(refusal, { code: 'config-invalid' })
  process.off('SIGHUP', onHangUp)
  await running.end(code)
  return code
}

/** `--workers N`. Throws `config-invalid`. */
export function workersOf(text: string): number {
  const found = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (found >= 1 && found <= supervisedWorkersMax) return found
  throw new MillraceError(
    'config-invalid',
    `--workers: expected a number from 1 to ${supervisedWorkersMax}, found '${text}'`,
  )
}

function mainOf(group: string): string {
  return join(root, 'tasks', group, 'main.ts')
}

/** Ours, with where the configuration is: secrets may stand in variables, and each child strips no types twice. */
function environment(file: string): Record<string, string | undefined> {
  return {
    NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compiled'),
    ...process.env,
    [taskEnv.config]: file,
  }
}

/** What a child cannot be started with; null: the line says something else. */
function refusalIn(text: string): string | null {
  if (!text.includes('"code":"config-invalid"')) return null
  const line = parsed(text)
  const hint = line?.['hint'] ? ` (${line['hint']})` : ''
  return line?.['level'] === 'error' ? `${line['msg']}${hint}` : null
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function nameOf({ group, index }: Member): string {
  return group === 'controller' ? group : `${group}-${index}`
}

function pretty(member: Member, text: string): string {
  const line = parsed(text)
  // What is not ours, such as the stack of a process that died.
  if (line === null) return `${eraseLine}${nameOf(member)} ${showSafe(text)}`
  return `${eraseLine}${prettyLine({ ...line, svc: nameOf(member) })}`
}

function statusLine(members: readonly Member[], urls: ReadonlyMap<string, string>): string {
  const workers = members.filter(({ group }) => group === 'worker')
  const up = workers.filter(({ since }) => since === 'running').length
  return `API ${urls.get('controller') ?? 'starting'}   workers ${up} of ${workers.length}   Ctrl-C ends it`
}

function at(wallMs: number): string {
  return new Date(wallMs).toISOString()
}
