import type { Overlay } from '../../flow/overlay.ts'
import type { Generation } from './assignment.ts'
import type { HeldError } from './documents/held.ts'
import type { WishesDoc } from './documents/wishes.ts'
import type { WorkerDoc } from './documents/worker.ts'

/** Units by their whole names, `<flow>/<part>/<n>`. */
export type UnitSet = ReadonlySet<string>

/** The node of a worker; `atMs`: when this version was first seen. `doc` null: it cannot be read. */
export type SeenWorker = { version: number; created: string; atMs: number; doc: WorkerDoc | null }
export type Assigned = Generation & { units: UnitSet; specs: ReadonlyMap<string, string>; chunks: number }
export type Held = Generation & {
  units: UnitSet
  state: 'running' | 'fenced' | 'stopping' | 'left'
  errors: readonly HeldError[]
}
/** `doc` null: it is there and cannot be read. */
export type SeenDoc<T> = { version: number; doc: T | null }

export type PlannedUnit = { weight: number; movable: boolean; requires: readonly string[] }
export type SeenFlow = {
  /** Of its document (C-37). */
  tag: string
  /** Those that may run now, by their whole names; null: not known, so what stands in documents stays. */
  units: ReadonlyMap<string, PlannedUnit> | null
  overlay: Overlay
  /** Every unit of it needs a worker with these tags. */
  requires: readonly string[]
  deleting: boolean
  /** Named by an action that runs: not to be given (C-95). */
  reserved: UnitSet
  /** How many looks had begun, and the number of the last one that was answered. */
  looksBegun: number
  lookedAt: number
}

/** All that the leader has read before it decides: levels only (C-40). */
export type Observed = {
  /** Those whose node is there. */
  workers: ReadonlyMap<string, SeenWorker>
  assignments: ReadonlyMap<string, SeenDoc<Assigned>>
  helds: ReadonlyMap<string, SeenDoc<Held>>
  wishes: WishesDoc
  flows: ReadonlyMap<string, SeenFlow>
  /** What the planner takes a unit for (C-56). */
  weightOf(unit: string): number
  /** Units that should go somewhere else because they stand still (C-58), and where not to. */
  stuck: UnitSet
  /**
   * Ids whose document may yet change by a write of ours that was not answered: it is written again as it stands before
   * anything else, so that this write can only fail.
   */
  doubtful: ReadonlySet<string>
  /** Since when the leader's own beats are answered (C-9). */
  answeredSinceMs: number
  /** Negotiated by the leader. */
  sessionMs: number
}

export function flowOf(unit: string): string {
  return unit.slice(0, unit.indexOf('/'))
}

/** The unit's name within its flow, and without its number. */
export function withinFlow(unit: string): string {
  return unit.slice(unit.indexOf('/') + 1)
}
export function partOfUnit(unit: string): string {
  return unit.slice(0, unit.lastIndexOf('/'))
}
