import { MillraceError } from '../errors.ts'
import type { FlowEvent } from '../flow/event.ts'
import type { Config } from '../process/config.ts'
import type { ConfigFault } from '../process/configFault.ts'
import { readConfigText, watchConfig } from '../process/configFile.ts'
import type { LogLevel } from '../process/logger.ts'
import { blocksChanged } from './blocksInUse.ts'
import { clustersOf } from './clusters.ts'
import { clustersInUse } from './clustersInUse.ts'
import { type Coordination, openCoordination } from './coordination.ts'
import { readFlows } from './kinds.ts'
import { type Machine, thisMachine } from './machine.ts'
import { type OpenClusters, openClusters } from './openClusters.ts'
import { processExitOf } from './processExit.ts'
import { type RunningProcess, startProcess } from './startProcess.ts'

export type TaskSettings = { file: string; stage: string | null; level: LogLevel; stopTimeoutMs: number }

/** What a long-running process of a fleet stands on. */
export type Task = Pick<RunningProcess, 'clock' | 'log' | 'life' | 'redactor'> & {
  settings: TaskSettings
  machine: Machine
  config: Config
  opened: OpenClusters
  coordination: Pick<Coordination, 'open' | 'sessionMs' | 'startTimeoutMs'>
  tell(flow: string | null, event: FlowEvent): void
  /** Tells the parent of this machine, if there is one. */
  report(message: { ev: string } & Record<string, unknown>): void
  /** Each later configuration of the file that is taken; a file with faults changes nothing, and is told (DESIGN §4). */
  onConfig(taken: (config: Config) => void): void
}

/**
 * The life of a controller or a worker: its configuration read, its clusters and its coordination at hand, `work` done
 * until it ends, and the process with it (D-36). `settings` is called once; what it throws is told as the others are.
 */
export async function runTask(
  svc: 'controller' | 'worker',
  settings: () => TaskSettings,
  work: (task: Task) => Promise<void>,
): Promise<never> {
  const read = attempt(settings)
  const { level, stopTimeoutMs } = read.ok ? read.value : { level: 'info' as const, stopTimeoutMs: undefined }
  const running = startProcess({ svc, fd: 1, level, ...(stopTimeoutMs === undefined ? {} : { stopTimeoutMs }) })
  let error: unknown = null
  try {
    if (!read.ok) throw read.error
    await live(read.value, running, work)
  } catch (caught) {
    error = caught
    sayEnd(running, caught)
  }
  const code = processExitOf(error, { aborted: running.life.abort.aborted })
  await running.end(code)
  process.exit(code)
}

async function live(
  settings: TaskSettings,
  running: RunningProcess,
  work: (task: Task) => Promise<void>,
): Promise<void> {
  const { clock, log, life, redactor } = running
  const text = await readConfigText(settings.file)
  const config = configOf(text, settings.file)
  const tell = (flow: string | null, { message, ...fields }: FlowEvent) =>
    log.warn(message, { ...(flow === null ? {} : { flow }), ...fields })
  const parts = { clock, redactor, tell: (event: FlowEvent) => tell(null, event) }
  const { memoryBytesMax } = config.worker
  const opened = openClusters(clustersOf(config, settings.file), { ...parts, memoryBytesMax })
  const coordination = await openCoordination(config.coordination, settings.file, parts)
  const takers: ((config: Config) => void)[] = []
  const watching = watchTask({ settings, text, config, running, opened, takers })
  try {
    await work({
      clock,
      log,
      life,
      redactor,
      settings,
      machine: thisMachine(),
      config,
      opened,
      coordination,
      tell,
      // A parent that is gone is told nothing: without a function for that the process would end of it.
      report: message => void process.send?.(message, undefined, undefined, () => {}),
      onConfig: taken => takers.push(taken),
    })
  } finally {
    watching.close()
    coordination.close()
    await opened.close()
  }
}

function watchTask(of: {
  settings: TaskSettings
  text: string
  config: Config
  running: RunningProcess
  opened: OpenClusters
  takers: readonly ((config: Config) => void)[]
}): { close(): void } {
  const { settings, running, opened } = of
  const { file } = settings
  const { log } = running
  const inUse = clustersInUse(of.config)
  return watchConfig(file, {
    text: of.text,
    clock: running.clock,
    onFault: fault => log.warn(fault.message, { code: fault.code, hint: fault.hint }),
    onChange(changed) {
      const next = readFlows(changed, 'several')
      const faults = next.ok
        ? [...inUse.changed(next.config), ...blocksChanged(of.config, next.config)]
        : next.faults.map(fault => faultText(file, fault))
      if (!next.ok || faults.length > 0) {
        const message = `${file}: the change is not taken, what ran before runs on: ${faults.join('; ')}`
        return log.warn(message, { code: 'config-invalid' })
      }
      inUse.add(next.config)
      opened.add(clustersOf(next.config, file))
      for (const taken of of.takers) taken(next.config)
      log.info('the configuration was read again', { file })
    },
  })
}

function configOf(text: string, file: string): Config {
  const read = readFlows(text, 'several')
  if (read.ok) return read.config
  throw new MillraceError('config-invalid', read.faults.map(fault => faultText(file, fault)).join('; '), {
    hint: 'millrace config check -c FILE says each fault with what would be right',
  })
}

function faultText(file: string, { line, column, path, found, expected }: ConfigFault): string {
  return `${file}:${line}:${column} ${path === '' ? 'the file' : path}: found ${found}, expected ${expected}`
}

function sayEnd({ log }: RunningProcess, error: unknown): void {
  if (error instanceof MillraceError) log.error(error.message, { code: error.code, hint: error.hint })
  else log.error('it ended with an error of our own', { err: error })
}

function attempt<T>(make: () => T): { ok: true; value: T } | { ok: false; error: unknown } {
  try {
    return { ok: true, value: make() }
  } catch (error) {
    return { ok: false, error }
  }
}
