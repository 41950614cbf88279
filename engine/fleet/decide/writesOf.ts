import type { WishesDoc } from './documents/wishes.ts'
import { flowOf, type UnitSet } from './observed.ts'
import type { Draft } from './roundDraft.ts'

/** A document that is to stand for a worker; `version` null: there is none yet. */
export type AssignmentWrite = {
  id: string
  version: number | null
  units: UnitSet
  specs: ReadonlyMap<string, string>
  /** It takes units in, so it goes behind what only gives away. */
  gives: boolean
  /** Chunks that stand below it and are of no use after it. */
  before: { epoch: number; generation: number; chunks: number } | null
}
/** All of one stand in one write (C-7). `node`, `held`: the versions they must have; null: not there. */
export type Takeover = { id: string; node: number | null; held: number | null; assignment: AssignmentWrite }

/** What a round writes, as data; `multisOf` makes operations of it. */
export type Writes = {
  epoch: number
  generation: number
  takeovers: Takeover[]
  assignments: AssignmentWrite[]
  /** Workers that beat and do not let go. */
  ejects: { id: string; version: number }[]
  wishes: WishesDoc | null
  /** Ids of which nothing is to be left. */
  garbage: string[]
}

type More = Pick<Writes, 'ejects' | 'wishes' | 'garbage'>

export function writesOf(draft: Draft, more: More): Writes | null {
  const { memory, observed } = draft
  const takeovers: Takeover[] = []
  const assignments: AssignmentWrite[] = []
  for (const [id, worker] of memory.workers) {
    const units = draft.next.get(id)
    if (draft.dead.has(id)) {
      const held = observed.helds.get(id)?.version ?? null
      takeovers.push({ id, node: worker.node?.version ?? null, held, assignment: written(draft, id, new Set()) })
    } else if (isChanged(draft, id, units ?? null)) {
      assignments.push(written(draft, id, units ?? worker.assigned?.units ?? new Set()))
    }
  }
  const isNothing = takeovers.length + assignments.length + more.ejects.length + more.garbage.length === 0
  if (isNothing && more.wishes === null) return null
  const generation = takeovers.length + assignments.length > 0 ? memory.generation + 1 : memory.generation
  return { epoch: memory.epoch, generation, takeovers, assignments, ...more }
}

/** The documents in doubt, as they stand. */
export function rewrites(draft: Draft): Writes {
  const { memory, observed } = draft
  const assignments = [...observed.doubtful].map(id =>
    written(draft, id, memory.workers.get(id)?.assigned?.units ?? new Set()),
  )
  const none = { takeovers: [], ejects: [], wishes: null, garbage: [] }
  return { epoch: memory.epoch, generation: memory.generation + 1, assignments, ...none }
}

function isChanged(draft: Draft, id: string, units: UnitSet | null): boolean {
  const worker = draft.memory.workers.get(id)
  if (!worker) return false
  if (units === null) return areSpecsOld(draft, worker.assigned?.specs ?? new Map())
  if (worker.broken || worker.assigned === null || worker.assigned.units.size !== units.size) return true
  for (const unit of units) if (!worker.assigned.units.has(unit)) return true
  return areSpecsOld(draft, worker.assigned.specs)
}

function areSpecsOld({ observed }: Draft, specs: ReadonlyMap<string, string>): boolean {
  for (const [flow, tag] of specs) if ((observed.flows.get(flow)?.tag || tag) !== tag) return true
  return false
}

function written({ memory, observed }: Draft, id: string, units: UnitSet): AssignmentWrite {
  const { assigned } = memory.workers.get(id) ?? { assigned: null }
  const specs = new Map<string, string>()
  for (const unit of units) {
    const flow = flowOf(unit)
    if (specs.has(flow)) continue
    const tag = observed.flows.get(flow)?.tag || assigned?.specs.get(flow)
    if (tag) specs.set(flow, tag)
  }
  let gives = false
  for (const unit of units) {
    if (assigned?.units.has(unit)) continue
    gives = true
    break
  }
  const before = assigned ? { epoch: assigned.epoch, generation: assigned.generation, chunks: assigned.chunks } : null
  return { id, version: observed.assignments.get(id)?.version ?? null, units, specs, gives, before }
}
