import type { Tell } from '../flow/event.ts'
import { missingRight } from '../flow/missingRight.ts'
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
    const found = new Map<string, { trouble: Trouble; state: PartitionState; partitions: number; right: string }>()
    for (const unit of units) {
      const stream = shown(unit.stream?.trouble() ?? null, nowMs)
      const trouble = stream ?? shown(unit.run?.lane.trouble() ?? null, nowMs)
      if (!trouble) continue
      const state = stateOf(unit, nowMs)
      const key = `${state} ${trouble.code}`
      const there = found.get(key)
      if (there) there.partitions++
      else found.set(key, { trouble, state, partitions: 1, right: stream ? readOf(unit) : writeOf(unit) })
    }
    for (const [key, { trouble, state, partitions, right }] of found) {
      if (known.has(key)) continue
      const hint = trouble.code === 'kafka-not-authorized' ? { hint: missingRight(right) } : {}
      tell({ code: trouble.code, message: trouble.message, ...hint, state, partitions })
    }
    known = new Set(found.keys())
  }
}

const readOf = ({ part }: Unit) => `Read on topic ${part.topic} of the source`
/** Also where a producer id is refused: the broker gives one to whoever may write to a topic (KIP-679). */
const writeOf = ({ destination }: Unit) => `Write on topic ${destination.topic} of the destination`
