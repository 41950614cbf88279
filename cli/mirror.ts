import type { Command } from 'commander'
import { kafkaMeasures } from '../engine/adapters/kafka/measures.ts'
import { codec, crc32c } from '../engine/adapters/kafka/native.ts'
import { type ClusterConfig, openKafka } from '../engine/adapters/kafka/openKafka.ts'
import { MemoryAccount } from '../engine/adapters/kafka/slab.ts'
import { machineClock } from '../engine/adapters/local/clock.ts'
import { faultOf, MillraceError } from '../engine/errors.ts'
import { logFlushAtExitMs, unitLookMs } from '../engine/limits.ts'
import { type Copy, type CopySpec, openCopy } from '../engine/mirror/copy.ts'
import type { MirrorEvent } from '../engine/mirror/events.ts'
import type { CopyReport } from '../engine/mirror/report.ts'
import type { Clock } from '../engine/ports/clock.ts'
import type { Log } from '../engine/ports/log.ts'
import { startLogger } from '../engine/process/logger.ts'
import { prettyLine } from '../engine/process/pretty.ts'
import { endOnUncaught, type Life, startLife } from '../engine/process/stop.ts'
import { type AskedFlags, askedOf, askOptions } from './asked.ts'
import { exitCodeOf } from './exitCode.ts'
import { startHealth } from './health.ts'
import { type Ending, eraseLine, errorLines, type Output, outputTo } from './output.ts'
import { version } from './version.ts'
import { written } from './written.ts'

type Flags = AskedFlags & { untilEnd?: true; output?: string }
type Wanted = { from: ClusterConfig; to: ClusterConfig; spec: CopySpec; untilEnd: boolean; name: string | null }

/** `millrace mirror` (MIRROR M-100, §3.5). */
export function addMirror(program: Command): Command {
  return askOptions(program.command('mirror'))
    .description('copy topics of one Kafka cluster to another, byte for byte')
    .option('--until-end', 'copy to the ends seen at the start, then end')
    .option('--name <flow>', 'name of the flow, whose checkpoints it goes on from (default: made of the cluster ids)')
    .option('-o, --output <format>', 'json: JSON lines also at a terminal')
    .showHelpAfterError('(millrace mirror --help lists the options and commands)')
    .allowExcessArguments()
    .action(async (flags: Flags, { args }: Command) => process.exit(await mirror(flags, args)))
}

async function mirror(flags: Flags, words: readonly string[]): Promise<number> {
  let wanted: Wanted
  try {
    wanted = wantedOf(flags, words)
  } catch (error) {
    process.stderr.write(`${errorLines(error)}\n`)
    return exitCodeOf(error)
  }
  const clock = machineClock()
  const atTerminal = process.stderr.isTTY === true
  const log = startLogger({
    svc: 'mirror',
    task: String(process.pid),
    container: '-',
    level: 'info',
    fd: 2,
    clock,
    chance: Math.random,
    version,
    ...(atTerminal ? { show: line => `${eraseLine}${prettyLine(line)}` } : {}),
  })
  const exit = (code: number) => {
    log.flush()
    process.exit(code)
  }
  endOnUncaught({ fatal: log.fatal, exit })
  const life = startLife({ clock, log, exit })
  process.stdout.on('error', () => life.begin(null))
  const json = process.stdout.isTTY !== true || flags.output === 'json'
  const output = outputTo(process.stdout, process.stderr, json)
  // The machine's timers keep nobody alive, and between two tries no socket does.
  const alive = setInterval(() => {}, 1 << 30)
  const code = await run(wanted, { clock, log, life, output })
  clearInterval(alive)
  life.drained()
  await Promise.all([written(process.stdout, AbortSignal.timeout(logFlushAtExitMs)), log.end(code)])
  return code
}

/** Throws `config-invalid`. */
function wantedOf(flags: Flags, words: readonly string[]): Wanted {
  const { from, to, topics, name } = askedOf(flags, words, 'millrace mirror')
  if (flags.output !== undefined && flags.output !== 'json') {
    throw new MillraceError('config-invalid', `--output: expected json, found '${flags.output}'`)
  }
  const spec: CopySpec = { topics, isolation: 'read_committed', gaps: 'continue' }
  return { from, to, spec, untilEnd: flags.untilEnd === true, name }
}

type Around = { clock: Clock; log: Log; life: Life; output: Output }

async function run(wanted: Wanted, around: Around): Promise<number> {
  const { clock, log, life, output } = around
  const parts = { account: new MemoryAccount(), clock, chance: Math.random }
  const from = openKafka(wanted.from, parts)
  const to = openKafka(wanted.to, parts)
  const measures = kafkaMeasures(parts.account, [
    { name: wanted.from.name, counts: from.counts },
    { name: wanted.to.name, counts: to.counts },
  ])
  const tell = (event: MirrorEvent) => {
    const { message, ...fields } = event
    log.warn(message, fields)
    output.event(event, clock.wallMs())
  }
  let copy: Copy | null = null
  let whole = true
  let error: unknown = null
  let cancel = () => {}
  const health = await startHealth(() => copy, clock, measures)
  log.info('listening', { url: health.url })
  try {
    const { spec, untilEnd, name } = wanted
    const { stop, abort } = life
    const how = { name, from, to, spec, untilEnd, clock, chance: Math.random, codec, crc: crc32c, stop, abort, tell }
    copy = await openCopy(how)
    cancel = showProgress(copy, around)
    whole = (await copy.done).whole
  } catch (caught) {
    error = caught
    if (!(caught instanceof MillraceError)) log.error('the copy ended with an error of our own', { err: caught })
  } finally {
    cancel()
  }
  const report = copy?.report() ?? null
  const stopped = life.stop.aborted
  const ending = endingOf({ error: copy === null && stopped ? null : error, report, stopped, whole })
  output.end(copy?.flow ?? null, report, ending)
  await Promise.all([from.close(), to.close(), health.close()])
  if (ending.fault) return exitCodeOf(error)
  return ending.ok ? 0 : 1
}

function endingOf(of: { error: unknown; report: CopyReport | null; stopped: boolean; whole: boolean }): Ending {
  const { error, report, stopped, whole } = of
  if (error !== null) return { ok: false, reason: 'error', fault: faultOf(error, 'kafka-protocol') }
  // After a stop partitions that wait or were tried again are no fault of the command; those in error are.
  const bad = stopped ? ['error', 'refused'] : ['error', 'refused', 'waiting']
  const ok = whole && !(report?.topics.some(topic => bad.includes(topic.state)) ?? false)
  return { ok, reason: stopped ? 'signal' : 'until-end', fault: null }
}

function showProgress(copy: Copy, { clock, output }: Around): () => void {
  let cancel = clock.after(unitLookMs, show)
  function show(): void {
    cancel = clock.after(unitLookMs, show)
    output.progress(copy.flow, copy.report(), { wallMs: clock.wallMs(), nowMs: clock.nowMs() })
  }
  return () => cancel()
}
