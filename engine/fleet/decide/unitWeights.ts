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
  let medians = new Map<string, number>()

  function learn(owner: string, { of }: StatsDoc, nowMs: number): void {
    medians = new Map()
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

  function medianOf(key: string, isOf: (unit: string) => boolean): number | null {
    let median = medians.get(key)
    if (median === undefined) {
      const all: number[] = []
      for (const [unit, { used }] of known) if (used !== null && isOf(unit)) all.push(used)
      all.sort((a, b) => a - b)
      median = all[all.length >> 1] ?? -1
      medians.set(key, median)
    }
    return median < 0 ? null : median
  }

  return {
    learn,
    weightOf(unit) {
      const used = known.get(unit)?.used
      if (used != null) return used
      const [part, flow] = [partOfUnit(unit), flowOf(unit)]
      return (
        medianOf(part, one => partOfUnit(one) === part) ??
        medianOf(`${flow}/`, one => flowOf(one) === flow) ??
        weightBaseBytes
      )
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
      medians = new Map()
      for (const unit of known.keys()) if (!isKept(unit)) known.delete(unit)
    },
  }
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
