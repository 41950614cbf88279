import { type BatchVerdict, dropAborted } from '../batch/aborted.ts'
import { MillraceError } from '../errors.ts'
import { acknowledge, checkpointOf, stepOver } from '../flow/window.ts'
import type { Answer, Batch, Outcome, Stream } from '../ports/kafka.ts'
import { noteLatency } from './counts.ts'
import { jump } from './jump.ts'
import { resume, untilResumed } from './park.ts'
import { type Passing, pass, passSmall } from './pass.ts'
import { afterFailure, fail, giveUpOpen, letGoRefused } from './refused.ts'
import { beginRun, type CopyContext, drained, endRun, type Run, type Sent, type Unit, wantsMore } from './run.ts'

/**
 * Copies one partition: next → plan → send → outcome → checkpoint (DESIGN §3). Ends when its end is reached, or at
 * `stop` after the last acknowledgement (M-45); throws a MillraceError when it cannot go on (M-47). Its checkpoint is
 * right at any time, and the next call goes on there.
 */
export async function copyPartition(unit: Unit, ctx: CopyContext): Promise<void> {
  for (;;) {
    const run = beginRun(unit, ctx, outcome => noteOutcome(run, outcome))
    let obstacle: MillraceError | null = null
    try {
      obstacle = await copy(run)
    } finally {
      letGoRefused(run)
      endRun(run)
      giveUpOpen(unit)
    }
    if (run.gone !== null) throw run.gone
    if (run.failure !== null) await afterFailure(unit, run.failure, ctx)
    else if (obstacle !== null) throw obstacle
    else return
  }
}

/** Until nothing more is wanted; gives what it cannot read past, when all before it is acknowledged. */
async function copy(run: Run): Promise<MillraceError | null> {
  do {
    while (wantsMore(run)) {
      await untilResumed(run)
      if (!wantsMore(run)) break
      const obstacle = await read(run).catch(obstacleOf)
      if (!obstacle) continue
      await drained(run)
      return obstacle
    }
    await drained(run)
  } while (wantsMore(run))
  return null
}

function obstacleOf(error: unknown): MillraceError {
  if (error instanceof MillraceError) return error
  throw error
}

/** One stream, until its end or until something interrupts it. */
async function read(run: Run): Promise<void> {
  const { unit, ctx } = run
  run.reading = new AbortController()
  const { signal } = run.reading
  const { position: offset, epoch } = unit.window
  const stream = ctx.source.open({ ...unit.part, topicId: unit.topicId }, { offset, epoch })
  unit.stream = stream
  try {
    while (wantsMore(run) && !signal.aborted) {
      const answer = await nextAnswer(stream, signal)
      if (answer === null) continue
      // Here, in the turn in which it is used: the window may have been taken back since the answer came.
      if (signal.aborted) return drop(answer)
      if (answer.is !== 'batches') return await jump(run, answer, signal)
      take(run, stream, answer)
    }
  } finally {
    unit.stream = null
    stream.close()
  }
}

/** Null when interrupted. */
async function nextAnswer(stream: Stream, signal: AbortSignal): Promise<Answer | null> {
  try {
    return await stream.next(signal)
  } catch (error) {
    if (signal.aborted) return null
    throw error
  }
}

function drop(answer: Answer): void {
  if (answer.is === 'batches') for (const batch of answer.batches) batch.release()
}

function take(run: Run, stream: Stream, answer: Answer & { is: 'batches' }): void {
  const { counts, until, window } = run.unit
  counts.logStart = answer.logStart
  counts.lastStable = answer.lastStable
  counts.end = answer.end
  const { batches } = answer
  const on: Passing = { run, stream, readMs: run.ctx.clock.nowMs(), small: [], smallBytes: 0 }
  try {
    const verdicts = answer.aborted.length === 0 ? null : verdictsOf(run, answer)
    for (let i = 0; i < batches.length; i++) {
      const batch = batches[i] as Batch
      if (until !== null && batch.header.baseOffset >= until) {
        passSmall(on)
        return stepOver(window, until, window.epoch)
      }
      pass(on, batch, verdicts === null ? 'keep' : (verdicts[i] as BatchVerdict))
    }
    passSmall(on)
  } finally {
    for (const batch of batches) batch.release()
    noteMoved(run.unit)
  }
}

/** A marker that cannot be read may end an aborted transaction, or not: nothing behind it can be told apart. */
function verdictsOf({ unit }: Run, { batches, aborted }: Answer & { is: 'batches' }): BatchVerdict[] {
  try {
    return dropAborted(batches, aborted)
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause
    const at = `${unit.part.topic}/${unit.part.partition} from source offset ${unit.window.position}`
    const message = `${at}: a transaction marker cannot be read: ${cause.message}`
    const hint = 'let another replica of the source lead, or skip up to behind the marker'
    throw new MillraceError('batch-corrupt', message, { cause, hint })
  }
}

/** A fault is over when the checkpoint has passed it, also by what is skipped. */
function noteMoved(unit: Unit): void {
  if (unit.fault !== null && checkpointOf(unit.window) > unit.fault.offset) unit.fault = null
}

/** In the turn of the answer: it only notes (W-72). */
function noteOutcome(run: Run, outcome: Outcome<Sent>): void {
  if (outcome.is !== 'acked') return fail(run, outcome)
  const { unit, ctx } = run
  const { counts } = unit
  const sent = outcome.tag
  acknowledge(unit.window, sent)
  counts.records += sent.records
  counts.bytes += sent.bytes
  counts.batches[sent.path]++
  counts.newestMs = sent.newestMs
  counts.recordAgeMs = ctx.clock.wallMs() - sent.newestMs
  unit.destinationNext = outcome.baseOffset === null ? null : outcome.baseOffset + BigInt(sent.records)
  noteLatency(ctx.latency, ctx.clock.nowMs() - sent.readMs)
  noteMoved(unit)
  if (run.parked !== null && run.lane.trouble() === null) resume(run)
}
