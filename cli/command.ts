import { Command, CommanderError } from 'commander'
import { addMirror } from './mirror.ts'
import { addVerify } from './verify.ts'
import { version } from './version.ts'

/** The `millrace` command. Sets the exit code (DESIGN §9); a command that runs ends the process itself. */
export async function runCommand(): Promise<void> {
  const program = new Command('millrace')
    .description('keeps streams moving')
    .version(version)
    .enablePositionalOptions()
    .exitOverride()
    .showSuggestionAfterError()
  addVerify(addMirror(program))
  try {
    await program.parseAsync()
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    // Help and version are what was asked for; all else is usage.
    process.exitCode = error.exitCode === 0 ? 0 : 2
  }
}
