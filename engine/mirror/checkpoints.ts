import { MillraceError } from '../errors.ts'
import type { Tell } from '../flow/event.ts'
import { unitName } from '../flow/unitName.ts'
import { checkpointEpoch, checkpointOf } from '../flow/window.ts'
import { checkpointAgainMs, checkpointsCompareMs, commitGiveUpMs, ownerCommitsMs, settleTriesMax } from '../limits.ts'
import type { Clock } from '../ports/clock.ts'
import type { CheckpointStore, Entry } from '../ports/kafka.ts'
import { checkpointText } from './decide/checkpointMetadata.ts'
import { notStoredHint } from './groupOffsets.ts'
import type { Unit } from './run.ts'

export type Checkpoints = {
  /** Stores what has changed, or not for 12 h, unless that is being done; called each interval. */
  commit(): void
  /** Until this unit's checkpoint is stored; with others that wait for theirs in one request. False: given up. */
  settle(unit: Unit, signal: AbortSignal): Promise<boolean>
  /** Begins to store what has changed by now, unless something is under way. */
  last(): void
  /** What is under way is given up. */
  end(): void
}

type Changed = { unit: Unit; entry: Entry }
type How = {
  store: CheckpointStore
  group: string
  units: ReadonlyMap<string, Unit>
  /** The lease (C-5). */
  mayCommit: () => boolean
  clock: Clock
  tell: Tell
  fatal: (error: unknown) => void
}

/**
 * The checkpoints of a flow's units as committed offsets of its group (M-42): all that have changed in one call, so
 * that thousands of partitions cost one request (W-75). `fatal` is called when somebody else moves them (M-100).
 */
export function flowCheckpoints(how: How): Checkpoints {
  const { store, group, units, mayCommit, clock } = how
  const tellRefused = refusedTeller(how)
  /** Their topic is not at the source: there is nothing to store of them (M-14). */
  const gone = new WeakSet<Unit>()
  let busy: { abort: AbortController; sinceMs: number; done: Promise<void> } | null = null
  let comparedMs = clock.nowMs()
  let suspects = new Set<Unit>()

  async function save(all: Changed[], signal: AbortSignal): Promise<void> {
    const nowMs = clock.nowMs()
    for (const { unit } of all) {
      unit.commitSinceMs ??= nowMs
      // Until it is answered nobody knows which one is stored.
      unit.committed = null
    }
    const entries = all.map(one => one.entry)
    const refused = new Map((await store.save(group, entries, mayCommit, signal)).map(r => [unitName(r.part), r.code]))
    for (const { unit, entry } of all) {
      const code = refused.get(unitName(entry))
      if (code === 'source-missing') gone.add(unit)
      else gone.delete(unit)
      if (code === undefined) {
        unit.committed = entry.offset
        unit.committedMs = clock.nowMs()
      }
      if (code === undefined || code === 'source-missing') unit.commitSinceMs = null
    }
    tellRefused(refused)
  }

  function start(work: (signal: AbortSignal) => Promise<unknown>): void {
    const abort = new AbortController()
    const ended = (error?: unknown) => {
      busy = null
      // Given up for a newer one, or not allowed to: the units say since when (`commitSinceMs`).
      const expected = error === undefined || abort.signal.aborted || isDenied(error)
      if (!expected) how.fatal(error)
    }
    busy = { abort, sinceMs: clock.nowMs(), done: work(abort.signal).then(() => ended(), ended) }
  }

  function saveChanged(): void {
    const all = changedOf(units.values(), clock.nowMs())
    if (all.length > 0) start(signal => save(all, signal))
  }

  return {
    commit() {
      const nowMs = clock.nowMs()
      if (busy) {
        if (nowMs - busy.sinceMs > commitGiveUpMs) busy.abort.abort()
        return
      }
      if (nowMs - comparedMs >= checkpointsCompareMs) {
        comparedMs = nowMs
        return start(async signal => {
          suspects = await compare(how, suspects, signal)
        })
      }
      saveChanged()
    },
    async settle(unit, signal) {
      const giveUp = () => busy?.abort.abort()
      signal.addEventListener('abort', giveUp)
      // The first may be an older one that is under way; `save` itself tries until it is told to stop.
      for (let tries = 0; tries < settleTriesMax && !signal.aborted && isChanged(unit); tries++) {
        if (!busy) start(now => save(changedOf(units.values(), clock.nowMs()), now))
        await busy?.done
      }
      signal.removeEventListener('abort', giveUp)
      return gone.has(unit) || !isChanged(unit)
    },
    last: () => void (busy || saveChanged()),
    end: () => busy?.abort.abort(),
  }
}

/**
 * Nothing of ours is under way here, so what is stored must be what we stored last. Once it may be a late request
 * of our own, given up after a lost link and delivered behind a newer one: it is stored again. Twice in a row it is
 * somebody else's. Gives those of which it was so once.
 */
async function compare(
  { store, group, units }: How,
  before: ReadonlySet<Unit>,
  signal: AbortSignal,
): Promise<Set<Unit>> {
  const suspects = new Set<Unit>()
  const entries = await store.load(group, 'all', signal)
  // Somebody has deleted them: who runs knows them, and the next process would find a `checkpoint-lost` (M-70).
  const stored = new Set(entries.map(unitName))
  for (const [name, unit] of units) if (unit.held && !keepsStored(unit) && !stored.has(name)) unit.committed = null
  for (const entry of entries) {
    const unit = units.get(unitName(entry))
    if (!unit?.held || unit.committed === null || unit.committed === entry.offset) continue
    if (before.has(unit)) throw twice(unit, entry.offset, group)
    suspects.add(unit)
    unit.committed = null
  }
  return suspects
}

/**
 * Also what has not changed for long: Kafka forgets the offsets of a group without members a week after their last
 * commit (M-43). Of a checkpoint found at the start nobody knows the age, so it is stored once; and for a minute each
 * time, so that a late commit of its owner before is buried (C-11).
 */
function changedOf(units: Iterable<Unit>, nowMs: number): Changed[] {
  const all: Changed[] = []
  for (const unit of units) {
    if (!unit.held) continue
    const old = unit.committedMs === null || nowMs - unit.committedMs >= checkpointAgainMs
    if (keepsStored(unit)) {
      // Also in error (M-43): as it stands, else Kafka forgets it, and somebody has nothing to decide from.
      if (old && unit.stored) all.push({ unit, entry: unit.stored })
      continue
    }
    const isNew = nowMs - unit.ownedSinceMs < ownerCommitsMs
    if (old || isNew || isChanged(unit)) all.push(changed(unit))
  }
  return all
}

function isChanged(unit: Unit): boolean {
  return !keepsStored(unit) && checkpointOf(unit.window) !== unit.committed
}

/** What is stored tells at the next start that the destination is another one (M-16), or that somebody must decide. */
function keepsStored(unit: Unit): boolean {
  return unit.fault !== null && keptFaults.has(unit.fault.code)
}
const keptFaults = new Set([
  'destination-recreated',
  'checkpoint-lost',
  'source-gap',
  'source-truncated',
  'topic-recreated',
])

function changed(unit: Unit): Changed {
  const offset = checkpointOf(unit.window)
  const epoch = checkpointEpoch(unit.window)
  const { topicId: sourceId, destinationId, destinationNext } = unit
  const metadata = checkpointText({ sourceId, destinationId, epoch, destinationNext })
  return { unit, entry: { ...unit.part, offset, epoch, metadata } }
}

/** Once for each code. Whoever reads a topic says that it is not there. */
function refusedTeller({ tell, group }: How): (refused: ReadonlyMap<string, string>) => void {
  const told = new Set<string>(['source-missing'])
  return refused => {
    for (const code of new Set(refused.values())) {
      if (!told.has(code)) tell(refusedEvent(code, group, refused.size))
      told.add(code)
    }
  }
}

function refusedEvent(code: string, group: string, partitions: number): Parameters<Tell>[0] {
  const message = `checkpoints of group ${group} are not stored; copying goes on, and a restart would repeat`
  return { code, message, hint: notStoredHint(code, group), partitions }
}

function twice(unit: Unit, stored: bigint, group: string): MillraceError {
  const message = `${unitName(unit.part)}: the checkpoint of group ${group} moved from ${unit.committed} to ${stored}`
  return new MillraceError('flow-runs-twice', message, { hint: 'stop one of the two, or give one another --name' })
}

function isDenied(error: unknown): boolean {
  return error instanceof MillraceError && error.code === 'kafka-not-authorized'
}
