import { kafkaMeasures } from '../engine/adapters/kafka/measures.ts'
import { codec, crc32c } from '../engine/adapters/kafka/native.ts'
import { MemoryAccount } from '../engine/adapters/kafka/slab.ts'
import { machineClock } from '../engine/adapters/local/clock.ts'
import { faultOf, MillraceError } from '../engine/errors.ts'
import { type Solo, startSolo } from '../engine/fleet/solo.ts'
import type { FlowPlan } from '../engine/fleet/soloFlow.ts'
import type { FlowEvent, Tell } from '../engine/flow/event.ts'
import { every } from '../engine/flow/every.ts'
import { type Redactor, startRedactor } from '../engine/flow/redactor.ts'
import type { FlowReport } from '../engine/flow/report.ts'
import { logFlushAtExitMs, unitLookMs } from '../engine/limits.ts'
import type { Clock } from '../engine/ports/clock.ts'
import type { KafkaCluster } from '../engine/ports/kafka.ts'
import type { Log } from '../engine/ports/log.ts'
import { startLogger } from '../engine/process/logger.ts'
import { prettyLine } from '../engine/process/pretty.ts'
import { endOnUncaught, type Life, startLife } from '../engine/process/stop.ts'
import { usageMeasures } from '../engine/process/usage.ts'
import type { NamedCluster } from './clusters.ts'
import { exitCodeOf } from './exitCode.ts'
import { startHealth } from './health.ts'
import { openCluster } from './openCluster.ts'
import { type Ending, eraseLine, type Output, outputTo } from './output.ts'
import { redacted } from './redacted.ts'
import { version } from './version.ts'
import { written } from './written.ts'

export type Declared = { clusters: ReadonlyMap<string, NamedCluster>; flows: ReadonlyMap<string, FlowPlan> }
export type Around = { clock: Clock; log: Log; life: Life; tell: (flow: string | null, event: FlowEvent) => void }
export type Opened = { kafka(cluster: string): KafkaCluster }

/** How a command that runs flows differs from another. */
export type FlowsCommand = {
  svc: string
  json: boolean
  /** Each flow ends at the ends seen at its start. */
  untilEnd: boolean
  /** Exit code 5 when a gap or a skip happened. */
  strict: boolean
  clusters: Iterable<NamedCluster>
  /** What is to run; null = nothing any more: it is done, or stopped before it was known. Rejects with what the command ends with. */
  begin(opened: Opened, around: Around): Promise<ReadonlyMap<string, FlowPlan> | null>
  /** Called when they run; gives what ends it. */
  running?(solo: Solo, opened: Opened & { add(clusters: Iterable<NamedCluster>): void }, around: Around): () => void
}

/** The life of a process that runs flows (DESIGN §4, §9); gives its exit code. */
export async function runFlows(command: FlowsCommand): Promise<number> {
  const clock = machineClock()
  const atTerminal = process.stderr.isTTY === true
  const redactor = startRedactor()
  const log = startLogger({
    svc: command.svc,
    task: String(process.pid),
    container: '-',
    level: 'info',
    fd: 2,
    clock,
    chance: Math.random,
    version,
    redact: redactor.redact,
    ...(atTerminal ? { show: line => `${eraseLine}${prettyLine(line)}` } : {}),
  })
  const exit = (code: number) => {
    log.flush()
    process.exit(code)
  }
  endOnUncaught({ fatal: log.fatal, exit })
  const life = startLife({ clock, log, exit })
  process.stdout.on('error', () => life.begin(null))
  const output = outputTo(redacted(process.stdout, redactor), redacted(process.stderr, redactor), command.json)
  // The machine's timers keep nobody alive, and between two tries no socket does.
  const alive = setInterval(() => {}, 1 << 30)
  const code = await run(command, { clock, log, life, output, redactor })
  clearInterval(alive)
  life.drained()
  await Promise.all([written(process.stdout, AbortSignal.timeout(logFlushAtExitMs)), log.end(code)])
  return code
}

type Parts = { clock: Clock; log: Log; life: Life; output: Output; redactor: Redactor }

async function run(command: FlowsCommand, { clock, log, life, output, redactor }: Parts): Promise<number> {
  const tell = (flow: string | null, event: FlowEvent) => {
    const { message, ...fields } = event
    log.warn(message, { ...(flow === null ? {} : { flow }), ...fields })
    output.event(flow, event, clock.wallMs())
  }
  const opened = clustersOf(command, { clock, redactor, tell: event => tell(null, event) })
  const broke = (flow: string, error: unknown) => {
    if (!(error instanceof MillraceError))
      return log.error('a flow ended with an error of our own', { flow, err: error })
    tell(flow, { ...faultOf(error, error.code), state: 'error' })
  }
  let flows: ReadonlyMap<string, FlowPlan> | null = new Map()
  let solo: Solo | null = null
  let whole = true
  let error: unknown = null
  let cancel = () => {}
  const health = await startHealth(() => solo, clock, [...opened.measures, ...usageMeasures])
  log.info('listening', { url: health.url })
  const around: Around = { clock, log, life, tell }
  try {
    flows = await command.begin(opened, around)
    if (flows !== null) {
      const { stop, abort } = life
      const { untilEnd } = command
      const parts = {
        kafka: opened.kafka,
        clock,
        chance: Math.random,
        codec,
        crc: crc32c,
        stop,
        abort,
        tell,
        broke,
        untilEnd,
      }
      solo = startSolo(flows, parts)
      const ends = [showProgress(solo, clock, output), command.running?.(solo, opened, around) ?? (() => {})]
      cancel = () => {
        for (const end of ends) end()
      }
      whole = (await solo.done).whole
    }
  } catch (caught) {
    error = caught
    if (!(caught instanceof MillraceError)) log.error('it ended with an error of our own', { err: caught })
  } finally {
    cancel()
  }
  const stopped = life.stop.aborted
  const reports = [...(solo?.flows() ?? [])].map(({ flow, report }) => ({ flow, report: report() }))
  const ending = endingOf({ error: solo === null && stopped ? null : error, reports, stopped, whole })
  // A command that only had something to say has said it.
  if (flows !== null || stopped) output.end(reports, ending)
  // Whoever sends stdout to a file reads here why it ended.
  if (ending.fault && command.json)
    log.error(ending.fault.message, { code: ending.fault.code, hint: ending.fault.hint })
  await Promise.all([opened.close(), health.close()])
  if (ending.fault) return exitCodeOf(error)
  if (!ending.ok) return 1
  return command.strict && reports.some(({ report }) => report.gapRecords > 0) ? 5 : 0
}

function clustersOf(command: FlowsCommand, parts: { clock: Clock; redactor: Redactor; tell: Tell }) {
  const account = new MemoryAccount()
  const clusters = new Map<string, ReturnType<typeof openCluster>>()
  const add = (configs: Iterable<NamedCluster>) => {
    for (const named of configs) {
      if (!clusters.has(named.name)) clusters.set(named.name, openCluster(named, { ...parts, account }))
    }
  }
  add(command.clusters)
  return {
    add,
    kafka(name: string): KafkaCluster {
      const found = clusters.get(name)
      if (!found) throw new MillraceError('config-invalid', `there is no cluster '${name}'`)
      return found
    },
    measures: kafkaMeasures(account, () => [...clusters].map(([name, { counts }]) => ({ name, counts }))),
    close: () => Promise.all([...clusters.values()].map(cluster => cluster.close())),
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
