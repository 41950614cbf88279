import type { Command } from 'commander'
import { MillraceError } from '../engine/errors.ts'
import type { FlowPlan } from '../engine/fleet/soloFlow.ts'
import { noTopic } from '../engine/flow/noTopic.ts'
import { noOverlay } from '../engine/flow/overlay.ts'
import { kinds } from '../engine/kinds.ts'
import { firstLook } from '../engine/mirror/firstLook.ts'
import { flowName } from '../engine/mirror/flowName.ts'
import { hiddenTopics } from '../engine/mirror/rights.ts'
import type { MirrorSpec } from '../engine/mirror/spec.ts'
import { type Asked, type AskedFlags, askedOf, askOptions } from './asked.ts'
import { clusterFiles } from './clusterFiles.ts'
import { dryRun } from './dryRun.ts'
import { exitCodeOf } from './exitCode.ts'
import { type MirrorFlags, mirrorSpecOf } from './flagSpec.ts'
import { helpExamples } from './helpExamples.ts'
import { errorLines } from './output.ts'
import { type Around, type Opened, runFlows, type Start } from './runFlows.ts'

type Flags = AskedFlags & MirrorFlags & { untilEnd?: true; strict?: true; dryRun?: true; output?: string }
type Wanted = Asked & { flags: Flags; json: boolean }

/** `millrace mirror` (MIRROR M-100, §3.5). */
export function addMirror(program: Command): Command {
  const command = askOptions(program.command('mirror'))
    .description('copy topics of one Kafka cluster to another, byte for byte')
    .option('--start <where>', 'of what was never copied: earliest, latest or a time such as 2026-01-31T00:00:00Z')
    .option('--naming <prefix>', 'put this before the names of topics at the destination')
    .option('--compression <codec>', 'keep, none, gzip, snappy, lz4 or zstd (default: keep)')
    .option('--no-create', 'do not create topics or partitions at the destination')
    .option('--until-end', 'copy to the ends seen at the start, then end')
    .option('--strict', 'end with 5 when records were gone before they were read')
    .option('--dry-run', 'say which topics would be copied, and where to; nothing is changed')
    .option('--name <flow>', 'name of the flow, whose checkpoints it goes on from (default: made of the cluster ids)')
    .option('-o, --output <format>', 'json: JSON lines also at a terminal')
    .showHelpAfterError('(millrace mirror --help lists the options and commands)')
    .allowExcessArguments()
    .action(async (flags: Flags, { args }: Command) => process.exit(await mirror(flags, args)))
  return helpExamples(command, [
    [
      "millrace mirror --from east:9092 --to west:9092 --topics 'clicks\\..*'",
      'every topic that begins with clicks., until Ctrl-C',
    ],
    [
      "millrace mirror --from east:9092 --to west:9092 --topics '.*' --exclude '.*\\.tmp' --dry-run",
      'what would be copied',
    ],
    [
      'millrace mirror --from east:9092 --to west:9092 --topics orders --until-end',
      'one topic, to the end that it has now',
    ],
  ])
}

async function mirror(flags: Flags, words: readonly string[]): Promise<number> {
  let wanted: Wanted
  let spec: MirrorSpec
  try {
    wanted = await wantedOf(flags, words)
    spec = await mirrorSpecOf(wanted, flags)
  } catch (error) {
    process.stderr.write(`${errorLines(error)}\n`)
    return exitCodeOf(error)
  }
  return await runFlows({
    svc: 'mirror',
    json: wanted.json,
    untilEnd: flags.untilEnd === true,
    strict: flags.strict === true,
    clusters: [wanted.from, wanted.to],
    async begin(opened, around, start: Start) {
      const plans = await begin(wanted, spec, opened, around)
      return plans && { solo: start(plans) }
    },
  })
}

/** Rejects with `config-invalid`. */
async function wantedOf(flags: Flags, words: readonly string[]): Promise<Wanted> {
  const asked = askedOf(flags, words, 'millrace mirror', await clusterFiles(flags))
  if (flags.output !== undefined && flags.output !== 'json') {
    throw new MillraceError('config-invalid', `--output: expected json, found '${flags.output}'`)
  }
  return { ...asked, flags, json: process.stdout.isTTY !== true || flags.output === 'json' }
}

/** What is to run, when both clusters have answered: no broker for 30 s at the start ends the command (M-100). */
async function begin(
  { from, to, name, topics, select, flags, json }: Wanted,
  spec: MirrorSpec,
  opened: Opened,
  around: Around,
): Promise<ReadonlyMap<string, FlowPlan> | null> {
  const { kafka } = opened
  const { clock, life, tell } = around
  const how = {
    clock,
    chance: Math.random,
    stop: life.stop,
    tell: (event: Parameters<typeof tell>[1]) => tell(null, event),
  }
  const source = await firstLook(kafka(from.name), 'all', how)
  const destination = await firstLook(kafka(to.name), [], how)
  if (source.clusterId !== '' && source.clusterId === destination.clusterId && spec.naming === 'identity') {
    const message = `source and destination are the same cluster ${source.clusterId}: a topic would be copied onto itself (M-21)`
    throw new MillraceError('config-invalid', message, {
      hint: '--from and --to must be two clusters, or every name must change: --naming PREFIX',
    })
  }
  if (!source.topics.some(t => t.code === 0 && select(t.topic, t.internal).selected))
    throw (await hiddenTopics(from.name, kafka(from.name).admin, topics)) ?? noTopic(topics.include, source.topics)
  const flow = name ?? flowName(source.clusterId, destination.clusterId)
  if (flags.dryRun) {
    process.stdout.write(await dryRun(flow, spec, opened, around, json))
    return null
  }
  const { mirror } = kinds
  if (!mirror) return null
  return new Map([[flow, { kind: mirror, spec, overlay: noOverlay }]])
}
