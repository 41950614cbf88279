import type { Command } from 'commander'
import { MillraceError } from '../engine/errors.ts'
import type { Config } from '../engine/process/config.ts'
import { readConfigText } from '../engine/process/configFile.ts'
import { faultLine, warningLine } from './configLines.ts'
import { exitCodeOf } from './exitCode.ts'
import { helpExamples } from './helpExamples.ts'
import { errorLines } from './output.ts'
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
      'a fleet on this machine: kill any process that it starts, and the data goes on',
    ],
    ['kill -HUP PID', 'read the file at once, and try again what is in error'],
  ])
  return program
}

/** What the processes of a fleet agree by and whom they let in: each would end for it, and be started anew for ever. */
async function areSecretsGood(file: string, text: string, config: Config): Promise<boolean> {
  const { checkSecrets } = await import('./checkSecrets.ts')
  const faults = await checkSecrets(file, text, { ...config, clusters: new Map() })
  process.stderr.write(faults.map(fault => faultLine(file, fault)).join(''))
  return faults.length === 0
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
  if (workers !== null && !(await areSecretsGood(flags.config, text, config))) return 2
  if (workers !== null) return await runWorkers({ file: flags.config, config, workers, json })
  const { runSolo } = await import('./runSolo.ts')
  return await runSolo({ file: flags.config, text, config, json })
}
