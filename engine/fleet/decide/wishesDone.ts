import { garbageMs, wishKeptMs } from '../../limits.ts'
import type { WishesDoc } from './documents/wishes.ts'
import type { Memory } from './memory.ts'
import { flowOf } from './observed.ts'
import type { Plan, Why } from './plan.ts'
import type { Draft } from './roundDraft.ts'

/** What of the wishes is done, taken out of them (C-39, C-36); null: nothing. */
export function cleanedWishes(draft: Draft, next: Memory, found: Plan): WishesDoc | null {
  const { wishes } = draft.observed
  const moves = new Map([...wishes.moves].filter(([unit, to]) => !isMoveDone(draft, next, unit, to)))
  const drains = new Map([...wishes.drains].filter(([id]) => !isForgotten(draft, id)))
  const balanced = wishes.rebalance > 0 && reached.has(found.why)
  if (!balanced && moves.size === wishes.moves.size && drains.size === wishes.drains.size) return null
  return { ...wishes, moves, drains, rebalance: balanced ? 0 : wishes.rebalance }
}

/** Of a round that looked at the loads. */
const reached: ReadonlySet<Why> = new Set(['steady', 'no-gain', 'balance', 'few'])

/** It has been there for 10 min, its worker is gone or may not take it, or its flow is. */
function isMoveDone({ memory, observed, standings, nowMs }: Draft, next: Memory, unit: string, to: string): boolean {
  const sinceMs = next.moved.get(unit)
  if (sinceMs !== undefined) return nowMs - sinceMs >= wishKeptMs
  const flow = observed.flows.get(flowOf(unit))
  const worker = memory.workers.get(to)
  if (!flow || flow.deleting || !worker || standings.get(to) === 'gone') return true
  // A node that is away for a moment may come back (C-12).
  if (worker.node === null || worker.record === null) return false
  const requires = [...flow.requires, ...(flow.units?.get(unit)?.requires ?? [])]
  const { unitsMax, tags } = worker.record
  return unitsMax === 0 || !requires.every(tag => tags.includes(tag))
}

/** A drain of a process that nobody has seen for long. */
function isForgotten({ memory, nowMs }: Draft, id: string): boolean {
  const worker = memory.workers.get(id)
  if (!worker) return nowMs - memory.sinceMs >= garbageMs
  return worker.node === null && (worker.assigned?.units.size ?? 0) === 0 && nowMs - worker.newsMs >= garbageMs
}
