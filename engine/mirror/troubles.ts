import type { Tell } from '../flow/event.ts'
import { missingRight } from '../flow/missingRight.ts'
import type { PartitionState } from '../flow/states.ts'
import type { Trouble } from '../ports/kafka.ts'
import { partitionState, shown } from './decide/partitionState.ts'
import { goOnInNew } from './decide/remedy.ts'
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
export function troubleTeller(tell: Tell, flow: string): (units: Iterable<Unit>, nowMs: number) => void {
  let known = new Set<string>()
  return (units, nowMs) => {
    const found = new Map<
      string,
      { trouble: Trouble; state: PartitionState; partitions: number; hint: string | null }
    >()
    for (const unit of units) {
      const stream = shown(unit.stream?.trouble() ?? null, nowMs)
      const trouble = stream ?? shown(unit.run?.lane.trouble() ?? null, nowMs)
      if (!trouble) continue
      const state = stateOf(unit, nowMs)
      const key = `${state} ${trouble.code}`
      const there = found.get(key)
      if (there) there.partitions++
      else found.set(key, { trouble, state, partitions: 1, hint: hintOf(trouble, unit, flow, stream) })
    }
    for (const [key, { trouble, state, partitions, hint }] of found) {
      if (known.has(key)) continue
      const { code, message } = trouble
      tell({ code, message, ...(hint === null ? {} : { hint }), state, partitions })
    }
    known = new Set(found.keys())
  }
}

/** What is to be done about it; null: it passes, or the message says it. */
function hintOf({ code }: Trouble, unit: Unit, flow: string, stream: Trouble | null): string | null {
  if (code === 'kafka-not-authorized') return missingRight(stream ? readOf(unit) : writeOf(unit))
  if (code !== 'destination-missing') return null
  const { topic } = unit.part
  return `topic ${unit.destination.topic} was deleted while it was copied to, and is not made by itself; ${goOnInNew({ flow, topic })}`
}

const readOf = ({ part }: Unit) => `Read on topic ${part.topic} of the source`
/** Also where a producer id is refused: the broker gives one to whoever may write to a topic (KIP-679). */
const writeOf = ({ destination }: Unit) => `Write on topic ${destination.topic} of the destination`
