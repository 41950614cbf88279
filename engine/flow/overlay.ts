import { partOf } from './unitName.ts'

/**
 * What people change of a flow while it runs, beside its spec (C-38). All are levels, so that saying them twice is
 * harmless.
 */
export type Overlay = {
  /** `'*'`: all of the flow, or all partitions of that topic. */
  paused: '*' | ReadonlyMap<string, '*' | ReadonlySet<number>>
  /** By `topic/partition`: the records to leave out from a failing offset on. */
  skips: ReadonlyMap<string, { offset: bigint; records: number }>
  /** Taken before what the spec selects. */
  topics: ReadonlyMap<string, 'in' | 'out'>
}

export const noOverlay: Overlay = { paused: new Map(), skips: new Map(), topics: new Map() }

export function isPaused(overlay: Overlay, topic: string, partition: number): boolean {
  if (overlay.paused === '*') return true
  const of = overlay.paused.get(topic)
  return of === '*' || (of?.has(partition) ?? false)
}

/** `unit`: by its name in the flow. */
export function isPausedUnit(overlay: Overlay, unit: string): boolean {
  const { topic, partition } = partOf(unit)
  return isPaused(overlay, topic, partition)
}
