import { CommanderError } from 'commander'
import { processIo } from './io.ts'
import { programOf } from './program.ts'
import { written } from './written.ts'

/** What a pipe has not taken when the process exits is lost. */
async function exit(code: number): Promise<void> {
  await Promise.all([written(process.stdout), written(process.stderr)])
  process.exit(code)
}

// Whoever has read enough closes it, of a help too.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
try {
  await programOf({ io: processIo(), exit }).parseAsync()
} catch (error) {
  if (!(error instanceof CommanderError)) throw error
  // Help and version are what was asked for; all else is usage (DESIGN §9).
  process.exitCode = error.exitCode === 0 ? 0 : 2
}
