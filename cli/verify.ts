import type { Command } from 'commander'
import { codec } from '../engine/adapters/kafka/native.ts'
import { MemoryAccount } from '../engine/adapters/kafka/slab.ts'
import { machineClock } from '../engine/adapters/local/clock.ts'
import { MillraceError } from '../engine/errors.ts'
import { every } from '../engine/flow/every.ts'
import { noTopic } from '../engine/flow/noTopic.ts'
import { startRedactor } from '../engine/flow/redactor.ts'
import { unlessAborted } from '../engine/flow/unlessAborted.ts'
import { unitLookMs } from '../engine/limits.ts'
import { flowName } from '../engine/mirror/flowName.ts'
import type { Naming } from '../engine/mirror/spec.ts'
import { type Verified, type VerifyProgress, verify } from '../engine/mirror/verify.ts'
import type { Clock } from '../engine/ports/clock.ts'
import type { KafkaCluster } from '../engine/ports/kafka.ts'
import { silent } from '../engine/ports/log.ts'
import { startLife } from '../engine/process/stop.ts'
import type { NamedCluster } from '../engine/wiring/clusters.ts'
import { openCluster } from '../engine/wiring/openCluster.ts'
import { type Asked, type AskedFlags, askedOf, askOptions } from './asked.ts'
import { clusterFiles } from './clusterFiles.ts'
import { exitCodeOf } from './exitCode.ts'
import { mirrorSpecOf } from './flagSpec.ts'
import { eraseLine, errorLines, faultLines } from './output.ts'
import { unfinished, verifyExitCode, verifyJsonLine, verifyProgressLine, verifyTable } from './verifyOutput.ts'
import { written } from './written.ts'

type Flags = AskedFlags & { deep?: true; naming?: string; sinceOffset?: string; strict?: true; output?: string }
type Wanted = Asked & { naming: Naming; sinceOffset: bigint | null; strict: boolean; json: boolean }

/** `millrace mirror verify` (MIRROR M-101, §3.6). It reads and never writes. */
export function addVerify(mirror: Command): Command {
  return askOptions(mirror.command('verify'))
    .description('compare what a mirror has copied with its source, record by record')
    .option('--deep', 'read both sides up to the checkpoint and compare the records themselves')
    .option('--naming <prefix>', 'the prefix that the names have at the destination')
    .option('--since-offset <n>', 'begin at this offset of the source')
    .option('--strict', 'repeated records are a bad result too')
    .option('--name <flow>', 'name of the flow whose checkpoints say how far (default: made of the cluster ids)')
    .option('-o, --output <format>', 'json or table (default: a table at a terminal, else JSON lines)')
    .showHelpAfterError('(millrace mirror verify --help lists the options)')
    .allowExcessArguments()
    .action(async (flags: Flags, { args }: Command) => process.exit(await verifyCommand(flags, args)))
}

async function verifyCommand(flags: Flags, words: readonly string[]): Promise<number> {
  const clock = machineClock()
  const life = startLife({ clock, log: silent, exit: code => process.exit(code) })
  // The machine's timers keep nobody alive, and between two tries no socket does.
  const alive = setInterval(() => {}, 1 << 30)
  const open: KafkaCluster[] = []
  const redactor = startRedactor()
  try {
    const wanted = await wantedOf(flags, words)
    // An account for each side: what waits of one must never keep the other from being read.
    const opened = (named: NamedCluster) => {
      const cluster = openCluster(named, { account: new MemoryAccount(), clock, redactor, tell: () => {} })
      open.push(cluster)
      return cluster
    }
    const from = opened(wanted.from)
    const to = opened(wanted.to)
    const results = await verified(wanted, { from, to, clock, stop: life.stop })
    if (results === null) {
      process.stderr.write('stopped before both clusters had answered: nothing was compared\n')
      return unfinished
    }
    // Whoever has read enough closes it.
    process.stdout.on('error', () => {})
    process.stdout.write(wanted.json ? results.map(verifyJsonLine).join('') : verifyTable(results))
    for (const { topic, partition, fault } of results)
      if (fault) process.stderr.write(redactor.redact(`${topic}/${partition}: ${faultLines(fault)}\n`))
    return verifyExitCode(results, wanted.strict)
  } catch (error) {
    process.stderr.write(redactor.redact(`${errorLines(error)}\n`))
    return exitCodeOf(error)
  } finally {
    await Promise.all(open.map(cluster => cluster.close()))
    // From here on a signal ends the process: the result waits for its reader, however slow.
    life.close()
    await written(process.stdout)
    clearInterval(alive)
  }
}

type Around = { from: KafkaCluster; to: KafkaCluster; clock: Clock; stop: AbortSignal }

/** Null: stopped before both clusters had answered. */
async function verified(wanted: Wanted, { from, to, clock, stop }: Around): Promise<Verified[] | null> {
  const looks = await unlessAborted(Promise.all([from.admin.look('all'), to.admin.look([])]), stop)
  if (looks === null) return null
  const [source, destination] = looks
  if (source.clusterId !== '' && source.clusterId === destination.clusterId && wanted.naming === 'identity') {
    const message = `source and destination are the same cluster ${source.clusterId}: it would be compared with itself`
    throw new MillraceError('config-invalid', message, { hint: '--from and --to must be two clusters' })
  }
  const topics = source.topics
    .filter(({ topic, internal, code }) => code === 0 && wanted.select(topic, internal).selected)
    .map(({ topic }) => topic)
    .toSorted()
  if (topics.length === 0) throw noTopic(wanted.topics.include, source.topics)
  const flow = wanted.name ?? flowName(source.clusterId, destination.clusterId)
  const progress = progressShown(clock)
  const group = `millrace.${flow}`
  const { sinceOffset } = wanted
  const { naming } = wanted
  const how = {
    source: from,
    destination: to,
    topics,
    naming,
    group,
    sinceOffset,
    codec,
    clock,
    progress: progress.take,
  }
  try {
    return await verify(how, stop)
  } finally {
    progress.end()
  }
}

/** One line on stderr, rewritten each second, at a terminal only (DESIGN §9). */
function progressShown(clock: Clock): { take(at: VerifyProgress): void; end(): void } {
  if (!process.stderr.isTTY) return { take() {}, end() {} }
  let now: VerifyProgress | null = null
  let before = 0
  const cancel = every(clock, unitLookMs, () => {
    if (!now) return
    const line = verifyProgressLine(now, ((now.records - before) * 1000) / unitLookMs)
    before = now.records
    process.stderr.write(`${eraseLine}${line.slice(0, (process.stderr.columns ?? 80) - 1)}`)
  })
  return {
    take(at) {
      now = at
    },
    end() {
      cancel()
      process.stderr.write(eraseLine)
    },
  }
}

/** Rejects with `config-invalid`. */
async function wantedOf(flags: Flags, words: readonly string[]): Promise<Wanted> {
  const asked = askedOf(flags, words, 'millrace mirror verify --deep', await clusterFiles(flags))
  const invalid = (text: string, hint: string | null = null) => new MillraceError('config-invalid', text, { hint })
  if (flags.deep === undefined) {
    throw invalid('missing: --deep', 'this version compares records only; counts alone need what it does not write yet')
  }
  const { output, sinceOffset } = flags
  if (output !== undefined && output !== 'json' && output !== 'table') {
    throw invalid(`--output: expected json or table, found '${output}'`)
  }
  if (sinceOffset !== undefined && !/^\d{1,18}$/.test(sinceOffset)) {
    throw invalid(`--since-offset: expected an offset, found '${sinceOffset}'`)
  }
  const { naming } = await mirrorSpecOf(asked, {
    create: true,
    ...(flags.naming === undefined ? {} : { naming: flags.naming }),
  })
  return {
    ...asked,
    naming,
    sinceOffset: sinceOffset === undefined ? null : BigInt(sinceOffset),
    strict: flags.strict === true,
    json: output === undefined ? process.stdout.isTTY !== true : output === 'json',
  }
}
