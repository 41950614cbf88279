import type { WishesDoc } from '../fleet/decide/documents/wishes.ts'
import type { WorkerDoc } from '../fleet/decide/documents/worker.ts'

/** Why a worker may not take units of a flow (C-52, C-53), as far as the documents tell; null: it may. */
export function fitOf(worker: WorkerDoc, of: { spec: unknown; drains: WishesDoc['drains'] }): string | null {
  if (worker.state !== 'ready') return 'it is stopping'
  if (of.drains.has(worker.id)) return 'it is drained'
  const missing = requiresOf(of.spec).filter(tag => !worker.tags.includes(tag))
  if (missing.length > 0) return `it has not the tags ${missing.join(', ')}`
  return worker.unitsMax === 0 ? 'it takes no units' : null
}

/** `requires` of a flow stands in its spec. */
function requiresOf(spec: unknown): string[] {
  const requires = typeof spec === 'object' && spec !== null && 'requires' in spec ? spec.requires : []
  return Array.isArray(requires) ? requires.filter(tag => typeof tag === 'string') : []
}
