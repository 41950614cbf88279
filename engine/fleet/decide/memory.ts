import type { Generation } from './assignment.ts'
import type { WorkerDoc } from './documents/worker.ts'
import type { Assigned, Held, UnitSet } from './observed.ts'
import { noStrikes, type Strikes } from './quarantine.ts'

/** What the leader remembers of a worker; times are on its own monotonic clock. */
export type KnownWorker = {
  /** Null: its node is not there. */
  node: { created: string; version: number } | null
  /** Of the last node seen in this office. */
  created: string | null
  /** The last record that could be read. */
  record: WorkerDoc | null
  /** Whether the record that stands there now can be read. */
  readable: boolean
  /** Its last new beat, or the moment at which its node was first missed: no beat came after that (C-8). */
  seenMs: number
  /** When it was first seen with a node; null: never. */
  firstMs: number | null
  /** New workers count together (C-52). */
  counted: boolean
  /** Its document as this leader knows it. */
  assigned: Assigned | null
  /** The document is not there as it should be, so it is written again. */
  broken: boolean
  /**
   * The document that this leader found: until `held` has reached it, the worker may hold any unit that stood in no
   * document (C-42).
   */
  adopted: Generation | null
  /** The last report that could be read; not what stands there when `heldFault`. */
  held: Held | null
  heldFault: boolean
  /** `first`: met for the first time in this office; `again`: its node is a new one (C-12). */
  fresh: 'first' | 'again' | null
  stoppingMs: number | null
  drainMs: number | null
  /** Since when it has had no node, no units and no news (C-36). */
  newsMs: number
  strikes: Strikes
  /** It was named for not letting go. */
  slowSaid: boolean
}

/** A unit that was withdrawn and may still run (C-42). */
export type Transit = { from: string; at: Generation; sinceMs: number }

/** What the leader remembers from round to round; a new leader begins with nothing. */
export type Memory = {
  epoch: number
  /** Used for documents already, also for those of which nobody knows whether they were written. */
  generation: number
  /** When it took office. */
  sinceMs: number
  /** It found documents with units: it makes no voluntary move at first (C-25). */
  adopts: boolean
  workers: ReadonlyMap<string, KnownWorker>
  transit: ReadonlyMap<string, Transit>
  /** Whom a unit that nobody has is meant for: the worker that it was withdrawn for, or had it last. */
  intents: ReadonlyMap<string, string>
  /** Units whose worker has left, and when; no plan has moved them since. The last of them are the first to move. */
  guests: ReadonlyMap<string, number>
  /** Units that have stood in a document in this office. */
  placed: UnitSet
  /** Units that ended by themselves, and how many looks at their flow had begun then (C-45). */
  ended: ReadonlyMap<string, number>
  /** Wanted units that nobody holds, and since when. */
  unheld: ReadonlyMap<string, number>
  /** Wished moves that have been done, and since when (C-39). */
  moved: ReadonlyMap<string, number>
  ready: ReadonlySet<string>
  /** When the loads are looked at for balance the next time (C-55). */
  balanceMs: number
  settling: boolean
}

export function newMemory(epoch: number, nowMs: number): Memory {
  return {
    ...{ epoch, generation: 0, sinceMs: nowMs, adopts: false, settling: false, balanceMs: nowMs },
    workers: new Map(),
    transit: new Map(),
    intents: new Map(),
    guests: new Map(),
    placed: new Set(),
    ended: new Map(),
    unheld: new Map(),
    moved: new Map(),
    ready: new Set(),
  }
}

/** `seenMs`: a worker that this leader never saw counts from taking office (C-8). */
export function unknownWorker(seenMs: number): KnownWorker {
  return {
    ...{ node: null, created: null, record: null, readable: true, seenMs, firstMs: null, counted: false },
    ...{ assigned: null, broken: false, adopted: null, held: null, heldFault: false, fresh: null },
    ...{ stoppingMs: null, drainMs: null, newsMs: seenMs, strikes: noStrikes, slowSaid: false },
  }
}

/** Whether `held` has reached a document. */
export function hasReached(held: Generation | null, at: Generation): boolean {
  if (held === null) return false
  return held.epoch > at.epoch || (held.epoch === at.epoch && held.generation >= at.generation)
}
