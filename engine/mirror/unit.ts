import { type BatchVerdict, dropAborted } from '../batch/aborted.ts'
import { nextOffset } from '../batch/header.ts'
import { recode } from '../batch/recode.ts'
import { MillraceError } from '../errors.ts'
import { acknowledge, checkpointOf, opened, stepOver } from '../flow/window.ts'
import type { Answer, Batch, Outcome, Stream } from '../ports/kafka.ts'
import { noteLatency } from './counts.ts'
import { batchPlan } from './decide/batchPlan.ts'
import { jump } from './jump.ts'
import { resume, untilResumed } from './park.ts'
import { fail, giveUpOpen, refusedFault } from './refused.ts'
import { beginRun, type CopyContext, drained, endRun, type Run, type Sent, type Unit, wantsMore } from './run.ts'

/**
 * Copies one partition: next → plan → send → outcome → checkpoint (DESIGN §3). Ends when its end is reached, or at
 * `stop` after the last acknowledgement (M-45); throws a MillraceError when it cannot go on (M-47). Its checkpoint is
 * right at any time, and the next call goes on there.
 */
export async function copyPartition(unit: Unit, ctx: CopyContext): Promise<void> {
  for (;;) {
    const run = beginRun(unit, ctx, outcome => noteOutcome(run, outcome))
    try {
      do {
        while (wantsMore(run)) {
          await untilResumed(run)
          if (wantsMore(run)) await read(run)
        }
        await drained(run)
      } while (wantsMore(run))
    } finally {
      endRun(run)
      giveUpOpen(unit)
    }
    if (run.gone !== null) throw run.gone
    if (run.failure === null) return
    const fault = refusedFault(unit, run.failure)
    if (fault !== null) throw fault
  }
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
  const verdicts = answer.aborted.length === 0 ? null : dropAborted(batches, answer.aborted)
  const readMs = run.ctx.clock.nowMs()
  try {
    for (let i = 0; i < batches.length; i++) {
      const batch = batches[i] as Batch
      if (until !== null && batch.header.baseOffset >= until) return stepOver(window, until, window.epoch)
      takeOne(run, stream, batch, verdicts === null ? 'keep' : (verdicts[i] as BatchVerdict), readMs)
    }
  } finally {
    for (const batch of batches) batch.release()
  }
}

function takeOne(run: Run, stream: Stream, batch: Batch, verdict: BatchVerdict, readMs: number): void {
  const { unit } = run
  const { header } = batch
  const plan = batchPlan(header, { position: unit.window.position, verdict })
  if (plan.do === 'raw') return send(run, batch, batch, readMs, false)
  if (plan.do === 'recode') {
    const made = recoded(run, stream, batch)
    if (made === null) return stepOver(unit.window, nextOffset(header), header.partitionLeaderEpoch)
    send(run, batch, made, readMs, true)
    return made.release()
  }
  const next = nextOffset(header)
  // Read a second time after it was taken back, it is not counted a second time.
  if (plan.why === 'aborted' && next > unit.skippedTo) {
    unit.skippedTo = next
    unit.counts.skippedAborted += header.recordsCount
  }
  stepOver(unit.window, next, header.partitionLeaderEpoch)
}

function send(run: Run, read: Batch, batch: Batch, readMs: number, wasRecoded: boolean): void {
  const { window } = run.unit
  const { header } = read
  let from = header.baseOffset
  if (from < window.position) from = window.position
  const sent: Sent = {
    from,
    fromEpoch: window.epoch,
    next: nextOffset(header),
    epoch: header.partitionLeaderEpoch,
    acked: false,
    later: null,
    records: batch.header.recordsCount,
    bytes: batch.bytes.length,
    recoded: wasRecoded,
    readMs,
    newestMs: Number(header.maxTimestamp),
  }
  opened(window, sent)
  run.lane.send(batch, sent)
}

/** M-35. Its CRC was right, so a batch that cannot be opened was written like that. */
function recoded(run: Run, stream: Stream, batch: Batch): Batch | null {
  const { unit, ctx } = run
  try {
    const bytes = recode(batch, unit.window.position, ctx.codec, ctx.crc)
    return bytes === null ? null : stream.made(bytes)
  } catch (cause) {
    const at = `${unit.part.topic}/${unit.part.partition} at source offset ${batch.header.baseOffset}`
    throw new MillraceError('batch-corrupt', `${at}: the batch cannot be opened: ${(cause as Error).message}`, {
      cause,
    })
  }
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
  if (sent.recoded) counts.batchesRecode++
  else counts.batchesRaw++
  counts.newestMs = sent.newestMs
  unit.destinationNext = outcome.baseOffset === null ? null : outcome.baseOffset + BigInt(sent.records)
  noteLatency(ctx.latency, ctx.clock.nowMs() - sent.readMs)
  if (unit.fault !== null && checkpointOf(unit.window) > unit.fault.offset) unit.fault = null
  if (run.parked !== null && run.lane.trouble() === null) resume(run)
}
