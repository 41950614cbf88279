import type { Command } from 'commander'
import { MillraceError } from '../engine/errors.ts'
import type { Config, ReadConfig } from '../engine/process/config.ts'
import { type ConfigFault, inOrder } from '../engine/process/configFault.ts'
import { readConfigText } from '../engine/process/configFile.ts'
import { showSafe } from '../engine/process/pretty.ts'
import { faultLine, warningLine } from './configLines.ts'
import { type Ended, end } from './ended.ts'
import { noFlow } from './noFlow.ts'

type Flags = { config: string; output?: string }

/** `millrace config check` and `config explain` (DESIGN §7). They read a file, the first also its secrets, and connect to nothing. */
export function addConfig(program: Command): Command {
  const config = program.command('config').description('look at a configuration file before it is run')
  const sub = (name: string, about: string) =>
    config
      .command(name)
      .description(about)
      .requiredOption('-c, --config <file>', 'the configuration, such as millrace.yaml')
      .option('-o, --output <format>', 'json: one JSON document')
      .showHelpAfterError(`(millrace config ${name} --help lists the options)`)
  sub('check', 'say every fault of a configuration').action((flags: Flags) => end(() => check(flags)))
  sub('explain', 'print every value of a configuration and where it comes from')
    .argument('[flow]', 'of this flow only')
    .action((flow: string | undefined, flags: Flags) => end(() => explain(flags, flow ?? null)))
  return program
}

async function check(flags: Flags): Promise<Ended> {
  const json = wantsJson(flags)
  const text = await readConfigText(flags.config)
  const { readFlows } = await parts()
  const { checkSecrets } = await import('./checkSecrets.ts')
  const one = readFlows(text, 'one')
  // Who names a coordination means several processes.
  const whole = one.ok && one.config.coordination !== null ? readFlows(text, 'several') : one
  const read = await withSecrets(whole, config => checkSecrets(flags.config, text, config))
  const warnings = read.ok ? read.warnings : []
  if (json) {
    const faults = read.ok ? [] : read.faults
    return { out: `${JSON.stringify({ ok: read.ok, faults, warnings })}\n`, err: '', code: read.ok ? 0 : 2 }
  }
  if (!read.ok) return refused(flags, read.faults)
  const { clusters, flows } = read.config
  const err = warnings.map(warning => warningLine(flags.config, warning)).join('')
  return { out: `ok: ${counted(clusters.size, 'cluster')}, ${counted(flows.size, 'flow')}\n`, err, code: 0 }
}

/** A configuration without faults of its own, and those of the secrets that it names. */
async function withSecrets(read: ReadConfig, check: (config: Config) => Promise<ConfigFault[]>): Promise<ReadConfig> {
  if (!read.ok) return read
  const faults = inOrder(await check(read.config))
  return faults.length > 0 ? { ok: false, faults } : read
}

async function explain(flags: Flags, flow: string | null): Promise<Ended> {
  const json = wantsJson(flags)
  const text = await readConfigText(flags.config)
  const { explainConfig, schemas } = await parts()
  const explained = explainConfig(text, schemas, flow)
  if (!explained.ok) {
    if (!json) return refused(flags, explained.faults)
    return { out: `${JSON.stringify({ ok: false, faults: explained.faults })}\n`, err: '', code: 2 }
  }
  if (flow !== null && !explained.flows.includes(flow)) {
    throw noFlow(flags.config, flow, explained.flows)
  }
  const out = json
    ? `${JSON.stringify({ ok: true, values: explained.values })}\n`
    : explained.yaml.split('\n').map(showSafe).join('\n')
  return { out, err: '', code: 0 }
}

/** Loaded when a file is read: a mirror started by flags needs neither YAML nor schemas. */
async function parts() {
  const [{ explainConfig }, { readFlows, schemas }] = await Promise.all([
    import('../engine/process/configExplain.ts'),
    import('../engine/wiring/kinds.ts'),
  ])
  return { explainConfig, readFlows, schemas }
}

function wantsJson({ output }: Flags): boolean {
  if (output === undefined || output === 'json') return output === 'json'
  throw new MillraceError('config-invalid', `--output: expected json, found '${output}'`)
}

function refused({ config }: Flags, faults: readonly ConfigFault[]): Ended {
  return { out: '', err: faults.map(fault => faultLine(config, fault)).join(''), code: 2 }
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
