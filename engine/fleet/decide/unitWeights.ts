import { stillMs, weighedAfterMs, weightBaseBytes, weightReferenceBytes } from '../../limits.ts'
import type { StatsDoc } from './documents/stats.ts'
import { flowOf, partOfUnit } from './observed.ts'
import { average, steadyWeight } from './weight.ts'

/** What the leader has learnt of units from what their workers measure. */
export type UnitWeights = {
  learn(owner: string, stats: StatsDoc, nowMs: number): void
  weightOf(unit: string): number
  /** Units with lag and no progress for 300 s while others of their flow go on elsewhere, not yet moved for it (C-58). */
  stuck(nowMs: number): ReadonlySet<string>
  /** Of flows that are gone, and units that have left. */
  keep(isKept: (unit: string) => boolean): void
}

type Known = {
  owner: string
  /** First measured on this owner. */
  sinceMs: number
  atMs: number
  rate: number | null
  /** What the planner takes it for; null: not yet known. */
  used: number | null
  stillSinceMs: number | null
  movedForIt: boolean
  goesOn: boolean
}

/** `capacityBytes`: what one full worker copies in a second (C-56). */
export function unitWeights(capacityBytes = weightReferenceBytes): UnitWeights {
  const known = new Map<string, Known>()
  let medians: ReadonlyMap<string, number> | null = null

  function learn(owner: string, { of }: StatsDoc, nowMs: number): void {
    medians = null
    for (const [unit, { bytesPerSecond, lagRecords }] of of) {
      const one = known.get(unit) ?? begun(owner, nowMs)
      known.set(unit, one)
      if (one.owner !== owner) {
        if (one.stillSinceMs !== null) Object.assign(one, { movedForIt: true, stillSinceMs: null })
        Object.assign(one, { owner, sinceMs: nowMs })
      }
      still(one, bytesPerSecond, lagRecords, nowMs)
      if (bytesPerSecond === null || nowMs - one.sinceMs < weighedAfterMs) continue
      one.rate = one.rate === null ? bytesPerSecond : average(one.rate, bytesPerSecond, nowMs - one.atMs)
      one.atMs = nowMs
      const measured = weightBaseBytes + Math.round((one.rate * weightReferenceBytes) / capacityBytes)
      one.used = steadyWeight(one.used, measured)
    }
  }

  /** Of each part and each flow in which something is known, and of all, in one pass. */
  function median(key: string): number | null {
    medians ??= mediansOf(known)
    return medians.get(key) ?? null
  }

  return {
    learn,
    weightOf(unit) {
      const used = known.get(unit)?.used
      if (used != null) return used
      return median(partOfUnit(unit)) ?? median(flowOf(unit)) ?? median(everywhere) ?? weightBaseBytes
    },
    stuck(nowMs) {
      const found = new Set<string>()
      const goingOn = new Map<string, Set<string>>()
      for (const [unit, { owner, goesOn }] of known) {
        if (goesOn) goingOn.set(flowOf(unit), (goingOn.get(flowOf(unit)) ?? new Set()).add(owner))
      }
      for (const [unit, { owner, stillSinceMs, movedForIt }] of known) {
        if (stillSinceMs === null || movedForIt || nowMs - stillSinceMs < stillMs) continue
        const others = goingOn.get(flowOf(unit)) ?? new Set()
        if (others.size > (others.has(owner) ? 1 : 0)) found.add(unit)
      }
      return found
    },
    keep(isKept) {
      medians = null
      for (const unit of known.keys()) if (!isKept(unit)) known.delete(unit)
    },
  }
}

/** No flow and no part is called so. */
const everywhere = ''

/** By part, `<flow>/<topic>`, by flow, and of all. */
function mediansOf(known: ReadonlyMap<string, Known>): Map<string, number> {
  const values = new Map<string, number[]>()
  for (const [unit, { used }] of known) {
    if (used === null) continue
    for (const key of [partOfUnit(unit), flowOf(unit), everywhere]) {
      const list = values.get(key)
      if (list) list.push(used)
      else values.set(key, [used])
    }
  }
  return new Map([...values].map(([key, all]) => [key, all.sort((a, b) => a - b)[all.length >> 1] ?? 0]))
}

function begun(owner: string, nowMs: number): Known {
  const none = { rate: null, used: null, stillSinceMs: null, movedForIt: false, goesOn: false }
  return { owner, sinceMs: nowMs, atMs: nowMs, ...none }
}

function still(one: Known, bytesPerSecond: number | null, lagRecords: number | null, nowMs: number): void {
  one.goesOn = (bytesPerSecond ?? 0) > 0
  if (one.goesOn || lagRecords === 0) Object.assign(one, { stillSinceMs: null, movedForIt: false })
  else if (bytesPerSecond === 0 && lagRecords !== null) one.stillSinceMs ??= nowMs
}
