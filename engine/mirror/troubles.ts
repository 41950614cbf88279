import type { Tell } from '../flow/event.ts'
import type { PartitionState } from '../flow/states.ts'
import type { Trouble } from '../ports/kafka.ts'
import { partitionState, shown } from './decide/partitionState.ts'
import type { Unit } from './run.ts'

export function stateOf(unit: Unit, nowMs: number): PartitionState {
  return partitionState(
    {
      failed: unit.fault !== null,
      stream: unit.stream?.trouble() ?? null,
      lane: unit.run?.lane.trouble() ?? null,
      commitSinceMs: unit.commitSinceMs,
      heldSinceMs: unit.standing.heldSinceMs,
      stillSinceMs: unit.standing.stillSinceMs,
    },
    nowMs,
  )
}

/** Says once that a kind of trouble has begun, however many partitions have it: a broker that is away is one fact. */
export function troubleTeller(tell: Tell): (units: Iterable<Unit>, nowMs: number) => void {
  let known = new Set<string>()
  return (units, nowMs) => {
    const found = new Map<string, { trouble: Trouble; state: PartitionState; partitions: number }>()
    for (const unit of units) {
      const trouble = shown(unit.stream?.trouble() ?? null, nowMs) ?? shown(unit.run?.lane.trouble() ?? null, nowMs)
      if (!trouble) continue
      const state = stateOf(unit, nowMs)
      const key = `${state} ${trouble.code}`
      const there = found.get(key)
      if (there) there.partitions++
      else found.set(key, { trouble, state, partitions: 1 })
    }
    for (const [key, { trouble, state, partitions }] of found) {
      if (!known.has(key)) tell({ code: trouble.code, message: trouble.message, state, partitions })
    }
    known = new Set(found.keys())
  }
}
