import type { Command } from 'commander'
import { MemoryAccount } from '../engine/adapters/kafka/slab.ts'
import { machineClock } from '../engine/adapters/local/clock.ts'
import { MillraceError } from '../engine/errors.ts'
import { startRedactor } from '../engine/flow/redactor.ts'
import { within } from '../engine/flow/within.ts'
import { answerLateMs } from '../engine/limits.ts'
import { aclsNeeded } from '../engine/mirror/decide/aclsNeeded.ts'
import { flowName } from '../engine/mirror/flowName.ts'
import type { MirrorSpec } from '../engine/mirror/spec.ts'
import { readConfigText } from '../engine/process/configFile.ts'
import type { NamedCluster } from '../engine/wiring/clusters.ts'
import { openCluster } from '../engine/wiring/openCluster.ts'
import { type AclList, aclsJson, aclsText } from './aclsOutput.ts'
import { type AskedFlags, askedOf, askOptions } from './asked.ts'
import { clusterFiles } from './clusterFiles.ts'
import { faultLine } from './configLines.ts'
import { type Ended, end } from './ended.ts'
import { type MirrorFlags, mirrorSpecOf } from './flagSpec.ts'
import { helpExamples } from './helpExamples.ts'
import { noFlow } from './noFlow.ts'

type Flags = AskedFlags &
  Omit<MirrorFlags, 'start' | 'compression'> & {
    needed?: true
    config?: string
    principal: string
    output?: string
  }
type Brokers = Pick<NamedCluster, 'name' | 'brokers'>
/** `flow` null: it is made of ids of clusters that do not answer. */
type Wanted = { flow: string | null; from: Brokers; to: Brokers; spec: MirrorSpec }

/** Stands for the name of a flow that is not known; no flow can have it. */
const unknownFlow = '<flow>'

/** `millrace mirror acls --needed` (MIRROR M-27). It prints commands and runs none. */
export function addAcls(mirror: Command): Command {
  const command = askOptions(mirror.command('acls'))
    .description('print the Kafka ACL commands that a mirror needs at the source and at the destination')
    .argument('[flow]', 'a flow of the file that -c names')
    .option('--needed', 'what we need ourselves (nothing else is in this version)')
    .option('-c, --config <file>', 'take the flow from this configuration, in place of flags')
    .option('--naming <prefix>', 'put this before the names of topics at the destination')
    .option('--no-create', 'without the rights to create topics and partitions at the destination')
    .option('--name <flow>', 'name of the flow (default: made of the cluster ids)')
    .option('--principal <principal>', 'whom to allow', 'User:millrace')
    .option('-o, --output <format>', 'json: one JSON document')
    .showHelpAfterError('(millrace mirror acls --help lists the options)')
    .allowExcessArguments()
    .action(async (_flow: string | undefined, flags: Flags, { args }: Command) => await end(() => acls(flags, args)))
  helpExamples(command, [
    [
      "millrace mirror acls --needed --from east:9092 --to west:9092 --topics 'clicks\\..*'",
      'what somebody who may do all has to run before `millrace mirror` with these flags',
    ],
    ['millrace mirror acls --needed -c millrace.yaml clicks --principal User:mirror', 'the same for a flow of a file'],
  ])
  return mirror
}

async function acls(flags: Flags, words: readonly string[]): Promise<Ended> {
  if (flags.output !== undefined && flags.output !== 'json') {
    throw invalid(`--output: expected json, found '${flags.output}'`)
  }
  if (flags.needed === undefined) {
    throw invalid(
      'acls without --needed: not in this version',
      '`--needed` prints the ACLs that the mirror itself needs',
    )
  }
  if (!/^[A-Za-z]+:[^\p{Cc}]+$/u.test(flags.principal)) {
    throw invalid(`--principal: expected TYPE:NAME, found '${flags.principal}'`, 'as in: --principal User:mirror')
  }
  const found = flags.config === undefined ? await ofFlags(flags, words) : await ofFile(flags, flags.config, words)
  if ('code' in found) return found
  const { flow, from, to, spec } = found
  const { source, destination } = aclsNeeded(spec, flow ?? unknownFlow)
  const lists: AclList[] = [
    { side: 'source', cluster: from.name, bootstrap: bootstrapOf(from), acls: source },
    { side: 'destination', cluster: to.name, bootstrap: bootstrapOf(to), acls: destination },
  ]
  const unknown = flow === null ? unknownFlow : null
  const out =
    flags.output === 'json' ? aclsJson(flow, flags.principal, lists) : aclsText(unknown, flags.principal, lists)
  return { out, err: '', code: 0 }
}

async function ofFlags(flags: Flags, words: readonly string[]): Promise<Wanted> {
  const { from, to, topics, name } = askedOf(flags, words, 'millrace mirror acls --needed', await clusterFiles(flags))
  const spec = await mirrorSpecOf({ from, to, topics }, flags)
  return { flow: name ?? (await nameOf(from, to)), from, to, spec }
}

/** The name that `millrace mirror` would take (M-100); null when the two do not both answer soon. */
async function nameOf(from: NamedCluster, to: NamedCluster): Promise<string | null> {
  const clock = machineClock()
  const parts = { account: new MemoryAccount(), clock, redactor: startRedactor(), tell: () => {} }
  const clusters = [from, to].map(named => openCluster(named, parts))
  // The machine's timers keep nobody alive.
  const alive = setInterval(() => {}, 1 << 30)
  try {
    const all = Promise.all(clusters.map(cluster => cluster.admin.look([])))
    const never = new AbortController().signal
    const [source, destination] = await within({ clock, signal: never }, answerLateMs, 'the two clusters', signal =>
      Promise.race([all, rejected(signal)]),
    )
    return source && destination ? flowName(source.clusterId, destination.clusterId) : null
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error
    return null
  } finally {
    clearInterval(alive)
    await Promise.all(clusters.map(cluster => cluster.close()))
  }
}

function rejected(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
}

/** Connects to nothing. */
async function ofFile(flags: Flags, file: string, words: readonly string[]): Promise<Wanted | Ended> {
  const flagged = (['from', 'to', 'topics', 'exclude', 'name', 'naming'] as const).filter(
    flag => flags[flag] !== undefined,
  )
  if (flagged.length > 0 || !flags.create) {
    throw invalid(`--${flagged[0] ?? 'no-create'}: not with -c`, 'the file says it: name the flow alone')
  }
  const [flow, ...more] = words
  if (flow === undefined || more.length > 0) {
    const found = flow === undefined ? 'missing: the name of a flow' : `a word too many: ${more.join(' ')}`
    throw invalid(found, `as in: millrace mirror acls --needed -c ${file} clicks`)
  }
  const text = await readConfigText(file)
  const { readFlows } = await import('../engine/wiring/kinds.ts')
  const read = readFlows(text, 'one')
  if (!read.ok) return { out: '', err: read.faults.map(fault => faultLine(file, fault)).join(''), code: 2 }
  const { clusters, flows } = read.config
  const settings = flows.get(flow)
  if (settings === undefined) {
    throw noFlow(file, flow, [...flows.keys()])
  }
  const spec = settings.spec as MirrorSpec
  const brokersOf = (name: string) => ({ name, brokers: clusters.get(name)?.brokers ?? [] })
  return { flow, from: brokersOf(spec.from), to: brokersOf(spec.to), spec }
}

function bootstrapOf({ brokers }: Brokers): string {
  return brokers.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`).join(',')
}

function invalid(text: string, hint: string | null = null): MillraceError {
  return new MillraceError('config-invalid', text, { hint })
}
