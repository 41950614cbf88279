/** A record as the comparison sees it: where it lies and what it is (MIRROR §3.6, 32 bytes as a latin1 string). */
export type SeenRecord = { offset: bigint; digest: string }

export type CompareBounds = {
  /** Source offsets from here on need not be at the destination yet: the checkpoint. */
  sourceTo: bigint
  /** Log start of each side, as offsets: at most so many records of the other side have lost their counterpart. */
  sourceStart: bigint
  destinationStart: bigint
  lookAheadRecords: number
}

/** All are counts of records (M-101). `firstMissing` is a source offset, `firstExtra` one of the destination. */
export type Tally = {
  records: number
  destinationRecords: number
  equal: number
  repeated: number
  missing: number
  extra: number
  expired: number
  outOfOrder: number
  firstMissing: bigint | null
  firstExtra: bigint | null
}

/** A source record in the window. `next` is the one read after it, `same` the next one of its digest. */
type Entry = SeenRecord & { index: number; taken: boolean; next: Entry | null; same: Entry | null }
/** The entries of one digest: the taken ones come before the untaken, for the earliest is taken first. */
type Group = { untaken: Entry | null; newest: Entry }

/**
 * One partition of both sides being compared. At most twice the look-ahead of source records is remembered: those
 * that a destination record may still take, and those taken lately, for a repeat to be told from an extra.
 */
export type Comparison = {
  bounds: CompareBounds
  tally: Tally
  groups: Map<string, Group>
  oldest: Entry | null
  newest: Entry | null
  sourceCount: number
  sourceNext: bigint
  sourceEnded: boolean
  destinationEnded: boolean
  /** Destination records that need more of the source before they can be judged. */
  pending: SeenRecord[]
  pendingAt: number
  highestTaken: number
  /** The destination's first record that was found: its digest, and where the first one of another digest lies. */
  first: { digest: string; index: number; otherAt: number } | null
  expiredAtSource: number
}

/** Counts into `tally`, so that it can be looked at also when the comparison does not end. */
export function compareStreams(bounds: CompareBounds, tally: Tally): Comparison {
  return {
    bounds,
    tally,
    groups: new Map(),
    oldest: null,
    newest: null,
    sourceCount: 0,
    sourceNext: 0n,
    sourceEnded: false,
    destinationEnded: false,
    pending: [],
    pendingAt: 0,
    highestTaken: -1,
    first: null,
    expiredAtSource: 0,
  }
}

export function emptyTally(): Tally {
  const counts = { records: 0, destinationRecords: 0, equal: 0, repeated: 0, missing: 0, extra: 0, expired: 0 }
  return { ...counts, outOfOrder: 0, firstMissing: null, firstExtra: null }
}

/** What must be given next, so that each side is read no further than the other needs. */
export function wants(c: Comparison): 'source' | 'destination' | 'nothing' {
  if (c.pendingAt < c.pending.length) return 'source'
  if (!c.destinationEnded) return 'destination'
  return c.sourceEnded || c.sourceNext >= c.bounds.sourceTo ? 'nothing' : 'source'
}

/** Records of the source in their order; `next` = the source offset read next. */
export function takeSource(c: Comparison, records: readonly SeenRecord[], next: bigint): void {
  for (const { offset, digest } of records) {
    const entry: Entry = { offset, digest, index: c.sourceCount++, taken: false, next: null, same: null }
    if (offset < c.bounds.sourceTo) c.tally.records++
    if (c.newest) c.newest.next = entry
    c.newest = entry
    c.oldest ??= entry
    const group = c.groups.get(digest)
    if (!group) c.groups.set(digest, { untaken: entry, newest: entry })
    else {
      group.newest.same = entry
      group.newest = entry
      group.untaken ??= entry
    }
  }
  c.sourceNext = next
  settle(c)
}

export function takeDestination(c: Comparison, records: readonly SeenRecord[]): void {
  c.tally.destinationRecords += records.length
  c.pending = [...c.pending.slice(c.pendingAt), ...records]
  c.pendingAt = 0
  settle(c)
}

export function endSource(c: Comparison): void {
  c.sourceEnded = true
  settle(c)
}

export function endDestination(c: Comparison): void {
  c.destinationEnded = true
  settle(c)
}

/** Judges the destination records that can be judged, and forgets source records that nothing can take any more. */
function settle(c: Comparison): void {
  for (let record = c.pending[c.pendingAt]; record; record = c.pending[c.pendingAt]) {
    const group = c.groups.get(record.digest)
    if (group?.untaken) take(c, group, group.untaken)
    else if (!c.sourceEnded && mayLookFurther(c)) break
    else if (group) c.tally.repeated++
    else unmatched(c, record)
    c.pendingAt++
    forget(c, c.highestTaken - c.bounds.lookAheadRecords)
  }
  const done = c.destinationEnded && c.pendingAt === c.pending.length
  if (done) forget(c, c.sourceCount)
  else if (c.first === null) forget(c, Math.min(mayExpire(c), c.sourceCount - c.bounds.lookAheadRecords))
}

/**
 * The look-ahead counts from the highest record taken. Before the first one, as many source records more as the
 * destination may have lost at its start.
 */
function mayLookFurther(c: Comparison): boolean {
  const skipped = c.first === null ? mayExpire(c) : 0
  return c.sourceCount - (c.highestTaken + 1) - skipped < c.bounds.lookAheadRecords
}

function mayExpire(c: Comparison): number {
  return Number(c.bounds.destinationStart)
}

function take(c: Comparison, group: Group, entry: Entry): void {
  entry.taken = true
  group.untaken = entry.same
  c.tally.equal++
  if (entry.offset >= c.bounds.sourceTo) c.tally.records++
  if (entry.index < c.highestTaken) c.tally.outOfOrder++
  else c.highestTaken = entry.index
  if (c.first === null) c.first = { digest: entry.digest, index: entry.index, otherAt: Number.POSITIVE_INFINITY }
  else if (c.first.otherAt === Number.POSITIVE_INFINITY && entry.digest !== c.first.digest)
    c.first.otherAt = entry.index
}

/** Nothing at the source is like it. Before the first that is found it may be older than the source's log start. */
function unmatched(c: Comparison, record: SeenRecord): void {
  if (c.first === null && c.expiredAtSource < c.bounds.sourceStart) {
    c.expiredAtSource++
    c.tally.expired++
    return
  }
  c.tally.extra++
  c.tally.firstExtra ??= record.offset
}

/** Drops the source records with an index below `low`; one never taken is missing, unless it is only expired. */
function forget(c: Comparison, low: number): void {
  for (let entry = c.oldest; entry && entry.index < low; entry = c.oldest) {
    const group = c.groups.get(entry.digest)
    if (group) {
      if (!entry.taken) group.untaken = entry.same
      if (group.newest === entry) c.groups.delete(entry.digest)
    }
    if (!entry.taken && entry.offset < c.bounds.sourceTo) lost(c, entry)
    c.oldest = entry.next
  }
  if (c.oldest === null) c.newest = null
}

/**
 * Expired are records before the destination's first one, as many as its log may have lost. Of records that are
 * alike the earliest was taken, though the destination may hold the latest: of those the rest is expired too.
 */
function lost(c: Comparison, entry: Entry): void {
  const { first } = c
  const before = first === null || entry.index < first.index
  const alike = first !== null && entry.digest === first.digest && entry.index < first.otherAt
  if ((before || alike) && c.tally.expired - c.expiredAtSource < mayExpire(c)) {
    c.tally.expired++
    return
  }
  c.tally.missing++
  c.tally.firstMissing ??= entry.offset
}

export type Verdict = 'equal' | 'repeated' | 'different'

/** MIRROR §3.6. Repeats are what at-least-once may leave behind; another order is a difference. */
export function verdictOf(tally: Tally): Verdict {
  if (tally.missing + tally.extra + tally.outOfOrder > 0) return 'different'
  return tally.repeated > 0 ? 'repeated' : 'equal'
}
