import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { describe, test } from 'node:test'
import { folder, groupLives, startScript, until } from './rigCommand.ts'
import { live } from './rigFor.ts'

const owner = new URL('rigOwner.ts', import.meta.url).pathname
/** RIG scenario 2. */
const goneWithinMs = 5_000

describe('RIG 2: the owner dies, and every process it started is gone soon after', live, () => {
  for (const [way, moment] of [
    ['SIGKILL', 'spawned'],
    ['SIGKILL', 'starting'],
    ['SIGKILL', 'running'],
    ['SIGKILL', 'paused'],
    ['exit', 'starting'],
    ['exit', 'running'],
    ['exit', 'paused'],
    ['rejection', 'starting'],
    ['rejection', 'running'],
    ['rejection', 'paused'],
  ] as const) {
    test(`by ${way} with the parts ${moment}`, async () => {
      using temporary = folder('owner')
      const { ended } = startScript(owner, [way, moment], { TMPDIR: temporary.path })
      const { stdout, code, signal, stderr } = await ended
      if (way === 'SIGKILL') assert.equal(signal, 'SIGKILL')
      else assert.equal(code, way === 'exit' ? 0 : 1, stderr)
      const groups = stdout.trim().split('\n').map(Number)
      assert.ok(groups.length > 0 && groups.every(group => group > 0), stdout)
      await until(() => !groups.some(groupLives), goneWithinMs, `groups ${groups} gone`)
      // The guard removes the folder as its last act.
      await until(() => ownFolders(temporary.path).length === 0, goneWithinMs, 'the run folder gone')
    })
  }
})

/** Not counted: what the JVM leaves in the folder by itself. */
function ownFolders(path: string): string[] {
  return readdirSync(path).filter(name => name.startsWith('millrace-'))
}
