import type { Codec } from '../batch/codec.ts'
import type { Crc } from '../batch/crc.ts'
import type { Fault, MillraceError } from '../errors.ts'
import type { Tell } from '../flow/event.ts'
import type { Gaps } from '../flow/position.ts'
import { checkpointWindow, type Slot, type Window } from '../flow/window.ts'
import type { Chance, Clock } from '../ports/clock.ts'
import type {
  BatchSink,
  BatchSource,
  ClusterAdmin,
  Entry,
  Lane,
  Outcome,
  Part,
  Position,
  Stream,
  TopicId,
} from '../ports/kafka.ts'
import { type BatchPath, type Latency, type PartitionCounts, partitionCounts } from './counts.ts'
import { type Noted, notedAt } from './measured.ts'
import { giveUpUntaken, isHeldUp, type Parked, park, resume } from './park.ts'
import type { MirrorSpec } from './spec.ts'
import { notStanding, type Standing } from './standing.ts'

/** The flow's note of one batch on its way. */
export type Sent = Slot & {
  records: number
  bytes: number
  path: BatchPath
  /** When its answer came, on the monotonic clock. */
  readMs: number
  /** Its newest record time, ms since 1970. */
  newestMs: number
}

/** One partition of a flow, as long as the process knows it (M-1). */
export type Unit = {
  readonly part: Part
  topicId: TopicId
  /** Where it goes (M-20, M-23). */
  readonly destination: Part
  destinationId: TopicId
  /** It is this process's to run and to commit (M-42, M-43). */
  held: boolean
  /** Since when, on the monotonic clock. */
  ownedSinceMs: number
  /** Since when it is not, on the same clock. */
  leftMs: number | null
  noted: Noted
  readonly window: Window
  readonly counts: PartitionCounts
  /** Copied up to here and no further; null = without end. */
  until: bigint | null
  /** Since when the log has ended below `until`: it was cut, or made anew. */
  shortSinceMs: number | null
  /** Skipped batches below this have been counted. */
  skippedTo: bigint
  /** The destination's offset after the last acknowledged batch; null = not known. */
  destinationNext: bigint | null
  /** The checkpoint that is stored; null = none. */
  committed: bigint | null
  /** What stood there when the unit was placed; null = nothing. */
  stored: Entry | null
  /** When it was stored, on the monotonic clock; null = not by this process, so nobody knows how long ago. */
  committedMs: number | null
  /** Since when a newer one could not be stored. */
  commitSinceMs: number | null
  readonly standing: Standing
  /** The destination's limit of a batch, as far as it is known (M-37). */
  bytesMax: number | null
  /** Batches below this go alone: one of several joined ones was refused. */
  aloneTo: bigint
  /** The batch that the destination called damaged, and how often. */
  damaged: { offset: bigint; tries: number }
  /** Why the copy ended, until it has moved on from that offset. */
  fault: (Fault & { offset: bigint }) | null
  stream: Stream | null
  run: Run | null
}

/** What one run of a unit is given: what its flow shares, and its own signals. */
export type CopyContext = {
  source: BatchSource
  sink: BatchSink
  /** Of the source, and of the destination. */
  admin: ClusterAdmin
  destinationAdmin: ClusterAdmin
  clock: Clock
  chance: Chance
  codec: Codec
  crc: Crc
  gaps: Gaps
  compression: MirrorSpec['compression']
  /** The lease (W-70). */
  mayWrite: () => boolean
  /** Stop reading, wait for what is under way. */
  stop: AbortSignal
  /** Wait no longer. */
  abort: AbortSignal
  latency: Latency
  tell: Tell
}

export type Failure = Exclude<Outcome<Sent>, { is: 'acked' }>

/** One copy of a unit, from its lane's opening to its close. */
export type Run = {
  readonly unit: Unit
  readonly ctx: CopyContext
  readonly lane: Lane<Sent>
  /** Ends the present stream: a stop, a failure, trouble of the lane. */
  reading: AbortController
  /** Ends the run: nothing that is still under way will be answered. */
  readonly halt: AbortController
  failure: Failure | null
  /** One of its topics is not there any more. */
  gone: MillraceError | null
  parked: Parked | null
  readonly off: () => void
}

export function newUnit(of: {
  part: Part
  topicId: TopicId
  destination: Part
  destinationId: TopicId
  at: Position
  nowMs: number
}): Unit {
  const { at, nowMs, ...ids } = of
  return {
    ...ids,
    held: false,
    ownedSinceMs: nowMs,
    leftMs: null,
    noted: notedAt(nowMs, 0),
    window: checkpointWindow(at),
    counts: partitionCounts(),
    until: null,
    shortSinceMs: null,
    skippedTo: 0n,
    destinationNext: null,
    committed: null,
    stored: null,
    committedMs: null,
    commitSinceMs: null,
    standing: notStanding(),
    bytesMax: null,
    aloneTo: 0n,
    damaged: { offset: -1n, tries: 0 },
    fault: null,
    stream: null,
    run: null,
  }
}

export function beginRun(unit: Unit, ctx: CopyContext, onOutcome: (outcome: Outcome<Sent>) => void): Run {
  const stopped = () => stopReading(run)
  const aborted = () => halt(run)
  const run: Run = {
    unit,
    ctx,
    lane: ctx.sink.open<Sent>({ ...unit.destination, topicId: unit.destinationId }, ctx.mayWrite, onOutcome),
    reading: new AbortController(),
    halt: new AbortController(),
    failure: null,
    gone: null,
    parked: null,
    off: () => {
      ctx.stop.removeEventListener('abort', stopped)
      ctx.abort.removeEventListener('abort', aborted)
    },
  }
  unit.run = run
  ctx.stop.addEventListener('abort', stopped)
  ctx.abort.addEventListener('abort', aborted)
  if (ctx.abort.aborted) aborted()
  return run
}

export function endRun(run: Run): void {
  run.off()
  run.unit.run = null
  run.lane.close(run.ctx.abort.aborted)
}

/** Ends the run at once: a failure, or nobody waits any longer. */
export function halt(run: Run): void {
  run.halt.abort()
  run.reading.abort()
  resume(run)
}

/** What was never written need not be waited for when the destination takes nothing: it is taken back. */
function stopReading(run: Run): void {
  if (isHeldUp(run)) park(run)
  run.reading.abort()
  resume(run)
  giveUpUntaken(run)
}

export function wantsMore(run: Run): boolean {
  const { unit, ctx, halt } = run
  if (ctx.stop.aborted || halt.signal.aborted || run.gone !== null) return false
  return unit.until === null || unit.window.position < unit.until
}

/** Until everything that was sent is acknowledged, or the run is halted. */
export async function drained(run: Run, also?: AbortSignal): Promise<void> {
  const { signal } = run.halt
  const ends = also ? AbortSignal.any([signal, also]) : signal
  try {
    await run.lane.idle(ends)
  } catch (error) {
    if (!ends.aborted) throw error
  }
}
