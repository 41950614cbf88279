/** Assignments are ordered by epoch, then generation (C-24). */
export type Generation = { epoch: number; generation: number }
export type Accepted = 'apply' | 'same' | 'stale'

/** Whether a worker takes a document that it reads; `seen` null: it has taken none. */
export function acceptAssignment(seen: Generation | null, doc: Generation): Accepted {
  if (seen === null) return 'apply'
  if (doc.epoch !== seen.epoch) return doc.epoch > seen.epoch ? 'apply' : 'stale'
  if (doc.generation === seen.generation) return 'same'
  return doc.generation > seen.generation ? 'apply' : 'stale'
}

/**
 * The epoch of who takes office: above everything that anybody has seen, so that a wiped or restored ZooKeeper never
 * brings a lower one (C-21). Null: not there.
 */
export function nextEpoch(zookeeper: number | null, store: number | null, held: readonly number[]): number {
  return 1 + Math.max(zookeeper ?? 0, store ?? 0, ...held)
}
