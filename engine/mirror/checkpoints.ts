import { MillraceError } from '../errors.ts'
import { checkpointEpoch, checkpointOf } from '../flow/window.ts'
import { checkpointAgainMs, checkpointsCompareMs, commitGiveUpMs } from '../limits.ts'
import type { Clock } from '../ports/clock.ts'
import type { CheckpointStore, Entry } from '../ports/kafka.ts'
import { checkpointText } from './decide/checkpointMetadata.ts'
import type { Tell } from './events.ts'
import type { Unit } from './run.ts'
import { keyOf } from './start.ts'

export type Checkpoints = {
  /**
   * Stores where new units begin, all in one commit, so that a crash leaves all or none (M-70). Only those that are
   * `committed` then may run, else offsets that are gone at the next start would look as if they had never been.
   */
  begin(fresh: Unit[], signal: AbortSignal): Promise<void>
  /** Stores what has changed, or not for 12 h, unless that is being done; called each interval. */
  commit(): void
  /** Stores what has changed, and waits for it. False: not all of it is stored. */
  finish(signal: AbortSignal): Promise<boolean>
}

type Changed = { unit: Unit; entry: Entry }

/**
 * The checkpoints of a flow's units as committed offsets of its group (M-42): all that have changed in one call, so
 * that thousands of partitions cost one request (W-75). `fatal` is called when somebody else moves them (M-100).
 */
export function flowCheckpoints(how: {
  store: CheckpointStore
  group: string
  units: ReadonlyMap<string, Unit>
  mayWrite: () => boolean
  clock: Clock
  tell: Tell
  fatal: (error: unknown) => void
}): Checkpoints {
  const { store, group, units, mayWrite, clock } = how
  const told = new Set<string>()
  let busy: { abort: AbortController; sinceMs: number; done: Promise<void> } | null = null
  let comparedMs = clock.nowMs()
  let finishing = false
  let suspects = new Set<Unit>()

  async function save(all: Changed[], signal: AbortSignal): Promise<boolean> {
    const nowMs = clock.nowMs()
    for (const { unit } of all) {
      unit.commitSinceMs ??= nowMs
      // Until it is answered nobody knows which one is stored.
      unit.committed = null
    }
    const entries = all.map(one => one.entry)
    const refused = new Map((await store.save(group, entries, mayWrite, signal)).map(r => [keyOf(r.part), r.code]))
    for (const { unit, entry } of all) {
      if (refused.has(keyOf(entry))) continue
      unit.committed = entry.offset
      unit.committedMs = clock.nowMs()
      unit.commitSinceMs = null
    }
    for (const code of new Set(refused.values())) {
      if (!told.has(code)) how.tell(refusedEvent(code, group, refused.size))
      told.add(code)
    }
    return refused.size === 0
  }

  /**
   * Nothing of ours is under way here, so what is stored must be what we stored last. Once it may be a late request
   * of our own, given up after a lost link and delivered behind a newer one: it is stored again. Twice in a row it is
   * somebody else's.
   */
  async function compare(signal: AbortSignal): Promise<void> {
    const before = suspects
    suspects = new Set()
    for (const entry of await store.load(group, 'all', signal)) {
      const unit = units.get(keyOf(entry))
      if (!unit || unit.committed === null || unit.committed === entry.offset) continue
      if (before.has(unit)) throw twice(unit, entry.offset, group)
      suspects.add(unit)
      unit.committed = null
    }
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

  return {
    async begin(fresh, signal) {
      if (fresh.length > 0) await save(fresh.map(changed), signal)
    },
    commit() {
      // Nothing may be begun beside the last one: it could land after it.
      if (finishing) return
      const nowMs = clock.nowMs()
      if (busy) {
        if (nowMs - busy.sinceMs > commitGiveUpMs) busy.abort.abort()
        return
      }
      if (nowMs - comparedMs >= checkpointsCompareMs) {
        comparedMs = nowMs
        return start(compare)
      }
      const all = changedOf(units.values(), nowMs)
      if (all.length > 0) start(signal => save(all, signal))
    },
    async finish(signal) {
      finishing = true
      busy?.abort.abort()
      await busy?.done
      const all = changedOf(units.values(), clock.nowMs())
      if (all.length === 0) return true
      try {
        return await save(all, signal)
      } catch (error) {
        if (signal.aborted) return false
        throw error
      }
    },
  }
}

/**
 * Also what has not changed for long: Kafka forgets the offsets of a group without members a week after their last
 * commit (M-43). Of a checkpoint found at the start nobody knows the age, so it is stored once.
 */
function changedOf(units: Iterable<Unit>, nowMs: number): Changed[] {
  const all: Changed[] = []
  for (const unit of units) {
    // What was stored tells at the next start that the destination is another one (M-16).
    if (unit.fault?.code === 'destination-recreated') continue
    const old = unit.committedMs === null || nowMs - unit.committedMs >= checkpointAgainMs
    if (old || checkpointOf(unit.window) !== unit.committed) all.push(changed(unit))
  }
  return all
}

function changed(unit: Unit): Changed {
  const offset = checkpointOf(unit.window)
  const epoch = checkpointEpoch(unit.window)
  const { topicId: sourceId, destinationId, destinationNext } = unit
  const metadata = checkpointText({ sourceId, destinationId, epoch, destinationNext })
  return { unit, entry: { ...unit.part, offset, epoch, metadata } }
}

function refusedEvent(code: string, group: string, partitions: number): Parameters<Tell>[0] {
  const message = `checkpoints of group ${group} are not stored; copying goes on, and a restart would repeat`
  const hint = code === 'group-in-use' ? `stop the consumer in group ${group} or give the flow another name` : null
  return { code, message, hint, partitions }
}

function twice(unit: Unit, stored: bigint, group: string): MillraceError {
  const message = `${keyOf(unit.part)}: the checkpoint of group ${group} moved from ${unit.committed} to ${stored}`
  return new MillraceError('flow-runs-twice', message, { hint: 'stop one of the two, or give one another --name' })
}

function isDenied(error: unknown): boolean {
  return error instanceof MillraceError && error.code === 'kafka-not-authorized'
}
