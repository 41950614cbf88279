import { codec, crc32c } from '../engine/adapters/kafka/native.ts'
import { faultOf, MillraceError } from '../engine/errors.ts'
import { type Solo, startSolo } from '../engine/fleet/solo.ts'
import type { FlowPlan, SoloFlow, SoloParts } from '../engine/fleet/soloFlow.ts'
import type { FlowEvent } from '../engine/flow/event.ts'
import { every } from '../engine/flow/every.ts'
import type { FlowReport } from '../engine/flow/report.ts'
import { logFlushAtExitMs, unitLookMs } from '../engine/limits.ts'
import type { Clock } from '../engine/ports/clock.ts'
import { prettyLine } from '../engine/process/pretty.ts'
import type { NamedCluster } from '../engine/wiring/clusters.ts'
import { startHealth } from '../engine/wiring/health.ts'
import { type OpenClusters, openClusters } from '../engine/wiring/openClusters.ts'
import { type RunningProcess, startProcess } from '../engine/wiring/startProcess.ts'
import { exitCodeOf } from './exitCode.ts'
import { type Ending, eraseLine, type Output, outputTo } from './output.ts'
import { readiness } from './readiness.ts'
import { redacted } from './redacted.ts'
import { written } from './written.ts'

export type Around = Pick<RunningProcess, 'clock' | 'log' | 'life' | 'redactor'> & {
  tell: (flow: string | null, event: FlowEvent) => void
}
export type Opened = Pick<OpenClusters, 'kafka'>
export type OpenedAll = Pick<OpenClusters, 'kafka' | 'add' | 'measures'>
export type Start = (flows: ReadonlyMap<string, FlowPlan>, more?: Pick<SoloParts, 'epoch' | 'over'>) => Solo
type Served = { url: string; close(): Promise<void> }

/** How a command that runs flows differs from another. */
export type FlowsCommand = {
  svc: string
  json: boolean
  /** Each flow ends at the ends seen at its start. */
  untilEnd: boolean
  /** Exit code 5 when a gap or a skip happened. */
  strict: boolean
  clusters: Iterable<NamedCluster>
  /** Of fetched batches, over all clusters; without it the default. */
  memoryBytesMax?: number
  /** Told of what happens in a flow, besides being written down. */
  heard?(flow: string, event: FlowEvent, wallMs: number): void
  /** Where others ask how it does; without it `/livez`, `/readyz` and `/metrics` on a free port. */
  serve?(flows: () => Iterable<SoloFlow>, opened: OpenedAll, around: Around): Promise<Served>
  /**
   * Starts what is to run; null = nothing any more: it is done, or stopped before it was known. Rejects with what the
   * command ends with. `end` is called when nothing runs any more.
   */
  begin(opened: OpenedAll, around: Around & { url: string }, start: Start): Promise<{ solo: Solo; end?(): void } | null>
}

/** The life of a process that runs flows (DESIGN §4, §9); gives its exit code. */
export async function runFlows(command: FlowsCommand): Promise<number> {
  const running = startProcess({
    svc: command.svc,
    fd: 2,
    ...(process.stderr.isTTY === true ? { show: line => `${eraseLine}${prettyLine(line)}` } : {}),
  })
  const { life, redactor } = running
  process.stdout.on('error', () => life.begin(null))
  const output = outputTo(redacted(process.stdout, redactor), redacted(process.stderr, redactor), command.json)
  const code = await run(command, running, output)
  await Promise.all([written(process.stdout, AbortSignal.timeout(logFlushAtExitMs)), running.end(code)])
  return code
}

async function run(command: FlowsCommand, running: RunningProcess, output: Output): Promise<number> {
  const { clock, log, life, redactor } = running
  const tell = (flow: string | null, event: FlowEvent) => {
    const { message, ...fields } = event
    log.warn(message, { ...(flow === null ? {} : { flow }), ...fields })
    output.event(flow, event, clock.wallMs())
    if (flow !== null) command.heard?.(flow, event, clock.wallMs())
  }
  const { memoryBytesMax } = command
  const opened = openClusters(command.clusters, {
    clock,
    redactor,
    tell: event => tell(null, event),
    ...(memoryBytesMax === undefined ? {} : { memoryBytesMax }),
  })
  const around: Around = { clock, log, life, redactor, tell }
  let solo: Solo | null = null
  let hasSaid = false
  let whole = true
  let error: unknown = null
  const ends: (() => unknown)[] = [opened.close]
  try {
    const served = await serve(command, () => solo, opened, around)
    ends.unshift(served.close)
    log.info('listening', { url: served.url })
    const begun = await command.begin(opened, { ...around, url: served.url }, (flows, more) => {
      solo = startSolo(flows, { ...partsOf(command, opened, around), ...more })
      return solo
    })
    hasSaid = begun === null
    if (begun) {
      ends.unshift(showProgress(begun.solo, clock, output), begun.end ?? (() => {}))
      whole = (await begun.solo.done).whole
    }
  } catch (caught) {
    error = caught
    if (!(caught instanceof MillraceError)) log.error('it ended with an error of our own', { err: caught })
  }
  const stopped = life.stop.aborted
  const reports = [...flowsOf(solo)].map(({ flow, report }) => ({ flow, report: report() }))
  const ending = endingOf({ error: solo === null && stopped ? null : error, reports, stopped, whole })
  const closed = Promise.all(ends.map(end => end()))
  // A command that only had something to say has said it.
  if (!hasSaid || stopped) output.end(reports, ending)
  // Whoever sends stdout to a file reads here why it ended.
  if (ending.fault && command.json)
    log.error(ending.fault.message, { code: ending.fault.code, hint: ending.fault.hint })
  await closed
  if (ending.fault) return exitCodeOf(error)
  if (!ending.ok) return 1
  return command.strict && reports.some(({ report }) => (report.gapRecords ?? 0) > 0) ? 5 : 0
}

function flowsOf(solo: Solo | null): Iterable<SoloFlow> {
  return solo?.flows() ?? []
}

function serve(
  command: FlowsCommand,
  solo: () => Solo | null,
  opened: OpenedAll,
  around: Around,
): ReturnType<NonNullable<FlowsCommand['serve']>> {
  const flows = () => flowsOf(solo())
  if (command.serve) return command.serve(flows, opened, around)
  const waits = { ready: false, why: 'the clusters have not been reached yet' }
  return startHealth({
    ready: () => (solo() ? readiness(flows()) : waits),
    flows,
    measures: opened.measures,
    clock: around.clock,
  })
}

function partsOf({ untilEnd }: FlowsCommand, { kafka }: OpenedAll, { clock, life, log, tell }: Around): SoloParts {
  return {
    ...{ kafka, clock, chance: Math.random, codec, crc: crc32c, stop: life.stop, abort: life.abort, tell, untilEnd },
    broke(flow, error) {
      if (!(error instanceof MillraceError))
        return log.error('a flow ended with an error of our own', { flow, err: error })
      tell(flow, { ...faultOf(error, error.code), state: 'error' })
    },
  }
}

function endingOf(of: {
  error: unknown
  reports: readonly { report: FlowReport }[]
  stopped: boolean
  whole: boolean
}): Ending {
  const { error, reports, stopped, whole } = of
  if (error !== null) return { ok: false, reason: 'error', fault: faultOf(error, 'kafka-protocol') }
  // After a stop partitions that wait or were tried again are no fault of the command; those in error are.
  const bad = stopped ? ['error', 'refused'] : ['error', 'refused', 'waiting']
  const ok = whole && !reports.some(({ report }) => report.topics.some(topic => bad.includes(topic.state)))
  return { ok, reason: stopped ? 'signal' : 'until-end', fault: null }
}

function showProgress(solo: Solo, clock: Clock, output: Output): () => void {
  return every(clock, unitLookMs, () => {
    const reports = [...solo.flows()].map(({ flow, report }) => ({ flow, report: report() }))
    output.progress(reports, { wallMs: clock.wallMs(), nowMs: clock.nowMs() })
  })
}
