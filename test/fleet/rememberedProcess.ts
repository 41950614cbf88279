import { fileURLToPath } from 'node:url'
import { machineClock } from '../../engine/adapters/local/clock.ts'
import { fileStore } from '../../engine/adapters/local/fileStore.ts'
import { memoryCoordinator } from '../../engine/adapters/memory/coordinator.ts'
import { memoryTree } from '../../engine/adapters/memory/tree.ts'
import { writeEpoch } from '../../engine/fleet/decide/documents/epoch.ts'
import { stateExports } from '../../engine/fleet/exports.ts'
import { remembering } from '../../engine/fleet/remembered.ts'

export const rememberedProcess = fileURLToPath(import.meta.url)

/**
 * A process with a memory over the folder of its argument: tells its epoch and the number that it finds, then raises
 * the number for ever and tells each that was answered.
 */
async function run(root: string): Promise<void> {
  process.stdin.resume().once('end', () => process.exit(0))
  const clock = machineClock()
  const store = fileStore(root, { clock, chance: Math.random })
  const exports = stateExports(store, { clock, keepsVersions: false })
  const memory = remembering(memoryCoordinator(memoryTree(), { session: 's', timeoutMs: 10_000 }), exports)
  const epoch = (await memory.restore()) + 1
  const path = '/flows/clicks'
  const found = await memory.read(path)
  const n = found ? JSON.parse(found.data).n : 0
  const text = writeEpoch({ epoch, leader: 'c', atMs: 1 })
  await memory.write([{ do: 'create', path: '/epoch', data: text, mode: 'persistent' }])
  if (!found) await memory.write([{ do: 'create', path, data: '{"n":0,"v":1}', mode: 'persistent' }])
  process.stdout.write(`${epoch} ${n}\n`)
  for (let next = n + 1; ; next++) {
    const data = `{"n":${next},"pad":"${'x'.repeat(20_000)}","v":1}`
    const written = await memory.write([{ do: 'set', path, data, version: null }])
    if (!written.done) throw new Error(written.refused.why)
    process.stdout.write(`${epoch} ${next}\n`)
  }
}

if (process.argv[1] === rememberedProcess) await run(process.argv[2] ?? '')
