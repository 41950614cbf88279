import type { Command } from 'commander'
import { MillraceError } from '../engine/errors.ts'
import type { FlowPlan } from '../engine/fleet/soloFlow.ts'
import { tagsMissing } from '../engine/flow/tagsMissing.ts'
import { kinds } from '../engine/kinds.ts'
import type { Config } from '../engine/process/config.ts'
import { readConfigText, watchConfig } from '../engine/process/configFile.ts'
import { blocksChanged } from '../engine/wiring/blocksInUse.ts'
import { clustersOf } from '../engine/wiring/clusters.ts'
import { clustersInUse } from '../engine/wiring/clustersInUse.ts'
import { faultLine, warningLine } from './configLines.ts'
import { exitCodeOf } from './exitCode.ts'
import { helpExamples } from './helpExamples.ts'
import { errorLines } from './output.ts'
import { runFlows } from './runFlows.ts'
import { runWorkers, workersOf } from './runWorkers.ts'

type Flags = { config: string; output?: string; workers?: string }

/** `millrace run -c FILE`: all flows of a file in one process, or in a fleet of processes (DESIGN §4). */
export function addRun(program: Command): Command {
  const command = program
    .command('run')
    .description('run all flows of a configuration; an edited file is taken in while it runs')
    .requiredOption('-c, --config <file>', 'the configuration, such as millrace.yaml')
    .option(
      '--workers <n>',
      'so many worker processes and a controller, by the ZooKeeper of the file; without it one process',
    )
    .option('-o, --output <format>', 'json: JSON lines also at a terminal')
    .showHelpAfterError('(millrace run --help lists the options)')
    .action(async (flags: Flags) => process.exit(await run(flags)))
  helpExamples(command, [
    [
      'millrace config check -c millrace.yaml && millrace run -c millrace.yaml',
      'every fault of the file, then all its flows',
    ],
    [
      'millrace run -c millrace.yaml --workers 3',
      'a fleet on this machine: kill any process of it, and the data goes on',
    ],
    ['kill -HUP PID', 'read the file at once, and try again what is in error'],
  ])
  return program
}

async function run(flags: Flags): Promise<number> {
  let text: string
  let workers: number | null = null
  try {
    if (flags.workers !== undefined) workers = workersOf(flags.workers)
    if (flags.output !== undefined && flags.output !== 'json') {
      throw new MillraceError('config-invalid', `--output: expected json, found '${flags.output}'`)
    }
    text = await readConfigText(flags.config)
  } catch (error) {
    process.stderr.write(`${errorLines(error)}\n`)
    return exitCodeOf(error)
  }
  // Loaded when a file is read: a mirror started by flags needs neither YAML nor schemas.
  const { readFlows } = await import('../engine/wiring/kinds.ts')
  const read = readFlows(text, workers === null ? 'one' : 'several')
  if (!read.ok) {
    process.stderr.write(read.faults.map(fault => faultLine(flags.config, fault)).join(''))
    return 2
  }
  process.stderr.write(read.warnings.map(one => warningLine(flags.config, one)).join(''))
  const { config } = read
  const json = process.stdout.isTTY !== true || flags.output === 'json'
  if (workers !== null) return await runWorkers({ file: flags.config, config, workers, json })
  return await runFlows({
    svc: 'run',
    json,
    untilEnd: false,
    strict: false,
    clusters: clustersOf(config, flags.config),
    memoryBytesMax: config.worker.memoryBytesMax,
    begin: async () => plansOf(config),
    running(solo, opened, { clock, log, tell }) {
      const inUse = clustersInUse(config)
      const watching = watchConfig(flags.config, {
        text,
        clock,
        onChange: changed => {
          const next = readFlows(changed, 'one')
          const faults = next.ok
            ? [...inUse.changed(next.config), ...blocksChanged(config, next.config, ['coordination'])]
            : next.faults.map(fault => faultLine(flags.config, fault).trimEnd())
          if (next.ok && faults.length === 0) {
            const refused = solo.apply(plansOf(next.config), () => {
              opened.add(clustersOf(next.config, flags.config))
              inUse.add(next.config)
            })
            faults.push(...refused.map(({ flow, fault }) => `flows.${flow}.${fault.message}`))
          }
          if (next.ok && faults.length === 0) {
            for (const { path, line, hint } of next.warnings) log.warn(`${path}: ${hint}`, { file: flags.config, line })
          }
          if (faults.length === 0) return log.info('the configuration was read again', { file: flags.config })
          const message = `${flags.config}: the change is not taken, what ran before runs on: ${faults.join('; ')}`
          tell(null, { code: 'config-invalid', message })
        },
        onFault: fault => tell(null, { code: fault.code, message: fault.message, hint: fault.hint }),
      })
      return () => watching.close()
    },
  })
}

/** What this one process may run: what requires tags that it does not have was warned of, and is left out (C-96). */
function plansOf({ flows, worker }: Config): ReadonlyMap<string, FlowPlan> {
  const plans = new Map<string, FlowPlan>()
  for (const [name, flow] of flows) {
    const { kind, spec, overlay } = flow
    const found = kinds[kind]
    if (found && tagsMissing(flow, worker.tags).length === 0) plans.set(name, { kind: found, spec, overlay })
  }
  return plans
}
