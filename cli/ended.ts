import { exitCodeOf } from './exitCode.ts'
import { errorLines } from './output.ts'
import { written } from './written.ts'

/** What a command that only has something to say ends with: text for stdout and stderr, and its exit code. */
export type Ended = { out: string; err: string; code: number }

/** Says it, waits until it is taken, and ends the process; an error is said as one. */
export async function end(run: () => Promise<Ended>): Promise<void> {
  const { out, err, code } = await run().catch(error => ({
    out: '',
    err: `${errorLines(error)}\n`,
    code: exitCodeOf(error),
  }))
  // Whoever has read enough closes it.
  process.stdout.on('error', () => {})
  process.stdout.write(out)
  process.stderr.write(err)
  await Promise.all([written(process.stdout), written(process.stderr)])
  process.exit(code)
}
