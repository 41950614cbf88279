import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryCoordinator } from '../../engine/adapters/memory/coordinator.ts'
import { memoryTree } from '../../engine/adapters/memory/tree.ts'
import { paths, roots } from '../../engine/fleet/decide/documents/paths.ts'
import { writeWorker } from '../../engine/fleet/decide/documents/worker.ts'
import { startObservation } from '../../engine/fleet/observation.ts'
import { manualClock } from '../fakes/clock.ts'

test('a look misses a worker that is gone also when another has changed', async () => {
  const tree = memoryTree()
  const coordinator = memoryCoordinator(tree, { session: 'mine', timeoutMs: 10_000 })
  const workerText = (id: string, state: 'ready' | 'stopping') =>
    writeWorker({
      ...{ id, address: null, capacity: 1_000, leaseMs: 7_000, revision: 'r', software: '1', startedAtMs: 1, state },
      ...{ tags: [], task: id, unitsMax: 10 },
    })
  for (const path of roots) tree.write([{ do: 'create', path, data: '', mode: 'persistent' }], 'mine')
  for (const id of ['a', 'b']) {
    const data = workerText(id, 'ready')
    tree.write([{ do: 'create', path: paths.worker(id), data, mode: 'ephemeral' }], id)
  }
  const observation = startObservation({
    ...{ coordinator, clock: manualClock(), signal: new AbortController().signal },
    ...{ hint() {}, stats() {}, tell() {} },
  })
  await observation.all()
  tree.write([{ do: 'set', path: paths.worker('a'), data: workerText('a', 'stopping'), version: 0 }], 'a')
  tree.write([{ do: 'remove', path: paths.worker('b'), version: 0 }], 'b')
  assert.equal(await observation.look([]), true)
  assert.deepEqual([...observation.workers.keys()], ['a'])
})
