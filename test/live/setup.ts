import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describeError } from '../../rig/errors.ts'
import { progressAt } from '../../rig/progress.ts'
import { type RigSet, rig, type Wishes } from '../../rig/set.ts'
import { commonWishes, keepMark } from './rigFor.ts'

let set: RigSet<Wishes> | null = null

/**
 * Before all live suites: one set for all of them, its addresses in `MILLRACE_RIG` as JSON `{east: …, west: …}`.
 * A machine without the tools fails here, unless `MILLRACE_NO_RIG=1`.
 */
export async function globalSetup(): Promise<void> {
  if (process.env['MILLRACE_NO_RIG'] === '1') {
    process.stderr.write(`MILLRACE_NO_RIG=1: ${await countLiveTests()} live tests are left out\n`)
    return
  }
  const progress = progressAt(process.stderr)
  try {
    set = await rig(commonWishes(), { progress: progress.line })
  } catch (error) {
    process.stderr.write(`${describeError(error)}\n`)
    throw error
  } finally {
    progress.stop()
  }
  process.env['MILLRACE_RIG'] = JSON.stringify(set.addresses)
  process.env['MILLRACE_RIG_DIR'] = set.dir
}

export async function globalTeardown(): Promise<void> {
  if (set === null) return
  if (existsSync(join(set.dir, keepMark))) set.keep()
  await set.dispose()
}

/** By their names in the text: a suite that does not run tells nobody how many tests it has. */
async function countLiveTests(): Promise<number> {
  const folder = import.meta.dirname
  const files = (await readdir(folder, { recursive: true })).filter(name => name.endsWith('.test.ts'))
  const texts = await Promise.all(files.map(name => readFile(join(folder, name), 'utf8')))
  return texts.reduce((sum, text) => sum + (text.match(/^\s*(?:test|it)\(/gm)?.length ?? 0), 0)
}
