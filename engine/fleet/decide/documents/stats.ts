import { type PartitionState, partitionStates } from '../../../flow/states.ts'
import { canonical, type Json } from '../canonical.ts'
import { decodeRanges, encodeRanges } from '../ranges.ts'
import { unitsOf } from '../units.ts'
import { documentFields, type Fields } from './fields.ts'

export type UnitStats = { bytesPerSecond: number | null; lagRecords: number | null; state: PartitionState }

/** `/stats/<id>`: what a worker measures of each of its units, by their names; every 10 s. */
export type StatsDoc = { atMs: number; of: ReadonlyMap<string, UnitStats> }

const unknown = -1

export function readStats(text: string, path: string): StatsDoc {
  const fields = documentFields(text, path)
  const of = new Map<string, UnitStats>()
  const flows = fields.inner('flows')
  const states = fields.has('states') ? fields.inner('states') : null
  for (const flow of flows.names()) {
    const parts = flows.inner(flow)
    const statesOfFlow = states?.has(flow) ? states.inner(flow) : null
    for (const part of parts.names()) {
      const stateOf = statesOfFlow?.has(part) ? statesIn(statesOfFlow.inner(part)) : new Map()
      for (const [n, bytes, lag] of rowsOf(parts, part)) {
        const state = stateOf.get(n) ?? 'running'
        of.set(`${flow}/${part}/${n}`, { bytesPerSecond: orNull(bytes), lagRecords: orNull(lag), state })
      }
    }
  }
  return { atMs: fields.whole('atMs'), of }
}

const orNull = (value: number) => (value === unknown ? null : value)

/** `[ranges, [bytesPerSecond…], [lagRecords…]]`: as many of each as the ranges say. */
function rowsOf(parts: Fields, part: string): [n: number, bytes: number, lag: number][] {
  const json = parts.json(part)
  const [ranges, bytes, lags] = Array.isArray(json) ? json : []
  if (typeof ranges !== 'string') throw parts.corrupt(part, '[ranges, [bytesPerSecond…], [lagRecords…]]')
  const numbers = decodeRanges(ranges)
  const isFull = (list: unknown): list is number[] =>
    Array.isArray(list) && list.length === numbers.length && list.every(one => Number.isSafeInteger(one) && one >= -1)
  if (!isFull(bytes) || !isFull(lags)) throw parts.corrupt(part, `twice ${numbers.length} whole numbers from -1`)
  return numbers.map((n, index) => [n, bytes[index] ?? unknown, lags[index] ?? unknown])
}

function statesIn(fields: Fields): Map<number, PartitionState> {
  const found = new Map<number, PartitionState>()
  for (const name of fields.names()) {
    const state = partitionStates.find(one => one === name)
    // A state of a newer worker: that it does not run is what counts.
    for (const n of decodeRanges(fields.text(name))) found.set(n, state ?? 'error')
  }
  return found
}

export function writeStats({ atMs, of }: StatsDoc): string {
  const flows = new Map<string, Map<string, Json>>()
  const states = new Map<string, Map<string, Json>>()
  for (const [flow, parts] of unitsOf(of.keys())) {
    const rows = new Map<string, Json>()
    for (const [part, numbers] of parts) {
      const stats = numbers.map(n => of.get(`${flow}/${part}/${n}`))
      const bytes = stats.map(one => (one?.bytesPerSecond == null ? unknown : Math.round(one.bytesPerSecond)))
      const lags = stats.map(one => one?.lagRecords ?? unknown)
      rows.set(part, [encodeRanges(numbers), bytes, lags])
      const odd = Map.groupBy(
        numbers.filter(n => of.get(`${flow}/${part}/${n}`)?.state !== 'running'),
        n => of.get(`${flow}/${part}/${n}`)?.state ?? 'error',
      )
      const shown = new Map([...odd].map(([state, ns]) => [state, encodeRanges(ns)]))
      if (shown.size > 0) states.set(flow, (states.get(flow) ?? new Map<string, Json>()).set(part, shown))
    }
    flows.set(flow, rows)
  }
  return canonical(states.size > 0 ? { atMs, flows, states, v: 1 } : { atMs, flows, v: 1 })
}
