import { type Fault, type FaultCode, faultCodes } from '../errors.ts'
import type { Measured } from '../flow/contract.ts'
import type { PartitionState } from '../flow/states.ts'
import { unitName } from '../flow/unitName.ts'
import { unitRateMs } from '../limits.ts'
import { shown } from './decide/partitionState.ts'
import { lagOf } from './lag.ts'
import type { Unit } from './run.ts'
import { stateOf } from './troubles.ts'

type Mark = { atMs: number; bytes: number }

/** What is kept of a unit to tell its rate, and since when it is as it is; times on the monotonic clock. */
export type Noted = {
  /** The rate counts from the older one. */
  older: Mark
  newer: Mark
  state: PartitionState
  code: FaultCode | null
  sinceMs: number
}

export function notedAt(nowMs: number, bytes: number): Noted {
  const mark = { atMs: nowMs, bytes }
  return { older: mark, newer: mark, state: 'running', code: null, sinceMs: nowMs }
}

/** Called each second of a unit that the process has. */
export function noteUnit(unit: Unit, nowMs: number): void {
  const { noted, counts } = unit
  if (nowMs - noted.newer.atMs >= unitRateMs) {
    noted.older = noted.newer
    noted.newer = { atMs: nowMs, bytes: counts.bytes }
  }
  const state = stateOf(unit, nowMs)
  const code = codeOf(unit, nowMs)
  if (state !== noted.state || code !== noted.code) Object.assign(noted, { state, code, sinceMs: nowMs })
}

export function measuredUnit(unit: Unit, nowMs: number): Measured {
  noteUnit(unit, nowMs)
  const { older, state, code, sinceMs } = unit.noted
  const ms = nowMs - older.atMs
  return {
    unit: unitName(unit.part),
    bytesPerSecond: ms === 0 ? 0 : Math.round(((unit.counts.bytes - older.bytes) * 1_000) / ms),
    lagRecords: lagOf(unit),
    state,
    code,
    offset: unit.fault?.offset ?? null,
    sinceMs,
  }
}

/** The fault it stands at, else the trouble that its state comes from. */
function codeOf(unit: Unit, nowMs: number): FaultCode | null {
  if (unit.fault !== null) return unit.fault.code
  const trouble = shown(unit.stream?.trouble() ?? null, nowMs) ?? shown(unit.run?.lane.trouble() ?? null, nowMs)
  return faultCodes.find(code => code === trouble?.code) ?? null
}

/** A unit that was begun and has no position yet, or could not be given one. */
export type Unplaced = { sinceMs: number; fault: Fault | null }

export function measuredUnplaced(unit: string, { sinceMs, fault }: Unplaced): Measured {
  const state = fault === null ? 'waiting' : 'error'
  return { unit, bytesPerSecond: 0, lagRecords: null, state, code: fault?.code ?? null, offset: null, sinceMs }
}
