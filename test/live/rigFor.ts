import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type KafkaAddress, kafka } from '../../rig/kafka.ts'
import { sayKept } from '../../rig/keptFolder.ts'
import { want } from '../../rig/part.ts'
import { type RigOptions, type RigSet, rig, type Wishes } from '../../rig/set.ts'

/** `describe('…', live, () => …)`: left out, and counted by the setup, with MILLRACE_NO_RIG=1. */
export const live = { skip: process.env['MILLRACE_NO_RIG'] === '1' ? 'MILLRACE_NO_RIG=1' : false }

/** What every live suite has: two clusters of one broker each. */
export const commonWishes = () => ({ east: want(kafka, {}), west: want(kafka, {}) })

export interface LiveRig<W extends Wishes> extends AsyncDisposable {
  /** Shared with other suites: use topics and groups of your own, and never stop a broker. */
  readonly east: KafkaAddress
  readonly west: KafkaAddress
  /** What `extra` named; of this suite alone, to be stopped and broken at will. */
  readonly parts: RigSet<W>['parts']
  /** For `after`: ends what was started here. */
  dispose(): Promise<void>
}

/**
 * For `before` of a live suite: the common clusters from `MILLRACE_RIG` (test/live/setup.ts), and `extra` started for
 * this suite. Without a setup (one file run by hand) the common ones are started too.
 * After a failed test the run folders stay, the common one too.
 */
export async function rigFor<W extends Wishes>(extra: W): Promise<LiveRig<W>> {
  const given = process.env['MILLRACE_RIG']
  const common = given ? null : await rig(commonWishes(), untilExit())
  const { east, west } = common === null ? JSON.parse(given ?? '') : common.addresses
  const own = Object.keys(extra).length === 0 ? null : await startOwn(extra, common)
  const dispose = async () => {
    await Promise.all([own, common].map(set => set && endKept(set)))
  }
  markFailure()
  return { east, west, parts: own?.parts ?? ({} as RigSet<W>['parts']), dispose, [Symbol.asyncDispose]: dispose }
}

/** A file of this name in the common run folder tells the teardown that a test failed. */
export const keepMark = 'a-test-failed'

async function startOwn<W extends Wishes>(extra: W, common: AsyncDisposable | null): Promise<RigSet<W>> {
  try {
    return await rig(extra, untilExit())
  } catch (error) {
    await common?.[Symbol.asyncDispose]()
    throw error
  }
}

/**
 * Whether a test of this process failed is known at its very end, long after `after`: until then the folder is kept.
 * Not before `after`: what is killed in the middle leaves nothing.
 */
function endKept(set: RigSet<Wishes>): Promise<void> {
  set.keep()
  return set.dispose()
}

function untilExit(): RigOptions {
  return {
    kept: dir =>
      void process.on('exit', code => {
        if (code === 0) rmSync(dir, { recursive: true, force: true })
        else sayKept(dir)
      }),
  }
}

function markFailure(): void {
  const dir = process.env['MILLRACE_RIG_DIR']
  process.on('exit', code => {
    if (code !== 0 && dir) writeFileSync(join(dir, keepMark), '')
  })
}
