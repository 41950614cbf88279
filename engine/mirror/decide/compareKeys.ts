import type { SeenRecord, Tally } from './compareStreams.ts'

/** A record of a compacted topic. `digest` null = a tombstone: compaction may have removed it on one side only. */
export type SeenKey = { offset: bigint; key: string; digest: string | null }

export type KeyBounds = {
  /** Keys with a record at or after it are left out: compaction may have removed what the destination has of them. */
  sourceTo: bigint
  /** The destination's log start: so many keys may have gone with the records before it. */
  destinationStart: bigint
  /** Keys remembered at once; what is above is compared in further passes over both sides. */
  keysMax: number
}

type Last = { source: SeenRecord | null; destination: SeenRecord | null; moving: boolean }

/**
 * Last value per key on both sides (M-101, compacted topics). A pass holds the keys whose hash ends in `low` on
 * `bits` bits; a pass that gets too many keys gives half of them up to a later one.
 */
export type KeyComparison = {
  bounds: KeyBounds
  tally: Tally
  slice: Slice
  later: Slice[]
  keys: Map<string, Last>
}
type Slice = { bits: number; low: number }

export function compareKeys(bounds: KeyBounds, tally: Tally): KeyComparison {
  return { bounds, tally, slice: { bits: 0, low: 0 }, later: [], keys: new Map() }
}

export function takeSourceKeys(c: KeyComparison, records: readonly SeenKey[]): void {
  for (const record of records) {
    const last = entryOf(c, record.key)
    if (!last) continue
    if (record.offset >= c.bounds.sourceTo) last.moving = true
    else last.source = record.digest === null ? null : { offset: record.offset, digest: record.digest }
  }
}

export function takeDestinationKeys(c: KeyComparison, records: readonly SeenKey[]): void {
  for (const record of records) {
    const last = entryOf(c, record.key)
    if (last) last.destination = record.digest === null ? null : { offset: record.offset, digest: record.digest }
  }
}

/** Both sides were read: counts this pass. True = read both again for the next one. */
export function endPass(c: KeyComparison): boolean {
  for (const last of c.keys.values()) if (!last.moving) count(c, last)
  c.keys.clear()
  const next = c.later.pop()
  if (next) c.slice = next
  return next !== undefined
}

/** Null when the key belongs to another pass. */
function entryOf(c: KeyComparison, key: string): Last | null {
  if (!holds(c.slice, key)) return null
  const there = c.keys.get(key)
  if (there) return there
  while (c.keys.size >= c.bounds.keysMax) {
    halve(c)
    if (!holds(c.slice, key)) return null
  }
  const made = { source: null, destination: null, moving: false }
  c.keys.set(key, made)
  return made
}

function halve(c: KeyComparison): void {
  const { bits, low } = c.slice
  c.later.push({ bits: bits + 1, low: low | (1 << bits) })
  c.slice = { bits: bits + 1, low }
  for (const key of c.keys.keys()) if (!holds(c.slice, key)) c.keys.delete(key)
}

/** Keys are digests, so their first bytes are as good as any hash. */
function holds(slice: Slice, key: string): boolean {
  const hash = key.charCodeAt(0) | (key.charCodeAt(1) << 8) | (key.charCodeAt(2) << 16)
  return (hash & ((1 << slice.bits) - 1)) === slice.low
}

function count(c: KeyComparison, last: Last): void {
  const { tally } = c
  const { source, destination } = last
  if (source) tally.records++
  if (destination) tally.destinationRecords++
  if (source && source.digest === destination?.digest) {
    tally.equal++
    return
  }
  if (source && !destination && tally.expired < c.bounds.destinationStart) {
    tally.expired++
    return
  }
  if (source) {
    tally.missing++
    tally.firstMissing = earlier(tally.firstMissing, source.offset)
  }
  if (destination) {
    tally.extra++
    tally.firstExtra = earlier(tally.firstExtra, destination.offset)
  }
}

function earlier(a: bigint | null, b: bigint): bigint {
  return a === null || b < a ? b : a
}
