import { copyFileSync, mkdirSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'

/**
 * A run folder that stays: its logs are copied to `RIG_ARTIFACTS` when that is set (CI), and its path is said on
 * stderr. All at once, so that an exit handler can do it.
 */
export function sayKept(dir: string): void {
  const artifacts = process.env['RIG_ARTIFACTS']
  if (artifacts) {
    const target = join(artifacts, basename(dir))
    mkdirSync(target, { recursive: true })
    for (const name of readdirSync(dir)) if (name.endsWith('.log')) copyFileSync(join(dir, name), join(target, name))
  }
  process.stderr.write(`kept: ${dir}\n`)
}
