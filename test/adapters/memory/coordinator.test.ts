import { memoryCoordinator } from '../../../engine/adapters/memory/coordinator.ts'
import { memoryTree } from '../../../engine/adapters/memory/tree.ts'
import { coordinatorContract } from '../../contracts/coordinator.ts'

coordinatorContract('the contract of a coordinator holds in memory', async () => {
  const tree = memoryTree()
  let sessions = 0
  return {
    open: async () => memoryCoordinator(tree, { session: `s${++sessions}`, timeoutMs: 10_000 }),
    dispose: async () => {},
  }
})
