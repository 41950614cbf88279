import { Command, CommanderError } from 'commander'
import { version } from '../engine/wiring/version.ts'
import { addAcls } from './acls.ts'
import { addConfig } from './configCommand.ts'
import { addMirror } from './mirror.ts'
import { addRun } from './run.ts'
import { addVerify } from './verify.ts'

const program = new Command('millrace')
  .description('keeps streams moving')
  .version(version)
  .enablePositionalOptions()
  .exitOverride()
  .showSuggestionAfterError()
  .showHelpAfterError('(millrace --help lists the commands)')

addVerify(addAcls(addMirror(program)))
addConfig(addRun(program))

try {
  await program.parseAsync()
} catch (error) {
  if (!(error instanceof CommanderError)) throw error
  // Help and version are what was asked for; all else is usage (DESIGN §9).
  process.exitCode = error.exitCode === 0 ? 0 : 2
}
