import { headerBytes, nextOffset, readHeader } from '../batch/header.ts'
import { MillraceError } from '../errors.ts'
import { pause } from '../flow/pause.ts'
import { outOfRange, type Placed, type PositionEvent, stoppedHint } from '../flow/position.ts'
import { unlessAborted } from '../flow/unlessAborted.ts'
import { restart } from '../flow/window.ts'
import { backOffMs, linkBackOff } from '../limits.ts'
import type { Answer } from '../ports/kafka.ts'
import { drained, type Run, type Unit } from './run.ts'

type Obstacle = Exclude<Answer, { is: 'batches' }>

/**
 * What stands in the way of a stream (M-47, M-71, M-72). Returns when the next stream may be opened, at the window's
 * position; throws what ends the copy. What is under way is acknowledged first: the checkpoint may go back here, and
 * only here.
 */
export async function jump(run: Run, answer: Obstacle, signal: AbortSignal): Promise<void> {
  const { unit, ctx } = run
  const at = `${unit.part.topic}/${unit.part.partition}`
  if (answer.is === 'corrupt') {
    const sums = `CRC ${answer.found.toString(16)} found, ${answer.computed.toString(16)} computed`
    // The checkpoint stands there, and a skip must name it; where the batch begins and ends its damaged header says.
    const { position } = unit.window
    const last = answer.bytes.length < headerBytes ? '' : `, up to offset ${nextOffset(readHeader(answer.bytes)) - 1n}`
    throw new MillraceError('batch-corrupt', `${at} at source offset ${position}: ${sums}`, {
      hint: `let another replica of the source lead, or skip the batch${last}`,
    })
  }
  if (answer.is === 'too-old') {
    const message = `${at} at source offset ${answer.offset}: a batch of format ${answer.magic}`
    throw new MillraceError('batch-refused', message, { hint: 'written before Kafka 0.11' })
  }
  await drained(run, signal)
  if (signal.aborted) return
  if (answer.is === 'recreated') return await madeAnew(run, answer.topicId, signal)
  const { position } = unit.window
  const counts = unit.counts
  const log =
    answer.is === 'out-of-range'
      ? { logStart: answer.logStart, highWatermark: answer.end, diverged: null }
      : { logStart: counts.logStart ?? 0n, highWatermark: counts.end ?? position, diverged: answer.offset }
  const epoch = answer.is === 'diverged' ? answer.epoch : -1
  place(unit, run, outOfRange({ position, ...log, gaps: ctx.gaps }), epoch)
}

/** Row 2 of M-70: the log start of the new topic has to be asked for. */
async function madeAnew(run: Run, newId: string, signal: AbortSignal): Promise<void> {
  const { unit, ctx } = run
  const logStart = await unlessAborted(logStartOf(run), signal)
  if (signal.aborted) return
  if (logStart === null) return await pause(ctx.clock, backOffMs(linkBackOff, 4, ctx.chance), signal)
  const event = { code: 'topic-recreated', oldId: unit.topicId, newId, checkpoint: unit.window.position } as const
  place(unit, run, ctx.gaps === 'stop' ? { error: event.code } : { at: logStart, event }, -1)
  unit.topicId = newId
  unit.skippedTo = 0n
}

async function logStartOf(run: Run): Promise<bigint | null> {
  try {
    const [found] = await run.ctx.admin.offsets([run.unit.part], 'start')
    return found?.offset ?? null
  } catch (error) {
    if (error instanceof MillraceError && error.retryable) return null
    throw error
  }
}

function place(unit: Unit, run: Run, placed: Placed, epoch: number): void {
  const at = `${unit.part.topic}/${unit.part.partition}`
  if ('unavailable' in placed) return
  if ('error' in placed) {
    const message = `${at}: the flow says to stop at position ${unit.window.position}`
    throw new MillraceError(placed.error, message, { hint: stoppedHint })
  }
  if (placed.event) tellPosition(run.ctx.tell, unit, placed.event, placed.at)
  restart(unit.window, { offset: placed.at, epoch })
  unit.fault = null
}

/**
 * Counts what was lost or replaced, and says so: once, for the checkpoint moves on (M-71). What was deleted from a
 * topic made anew before it was read is a gap too, from offset 0 up to `at`, where it goes on.
 */
export function tellPosition(tell: Run['ctx']['tell'], unit: Unit, event: PositionEvent, at: bigint): void {
  const { topic, partition } = unit.part
  const name = `${topic}/${partition}`
  if (event.code === 'topic-recreated') {
    const { code, oldId, newId, checkpoint } = event
    const message = `${name}: the topic was made anew; it is copied from its log start, behind what was copied before`
    tell({ code, message, topic, partition, oldId, newId, from: checkpoint })
    if (at > 0n) tellPosition(tell, unit, { code: 'source-gap', from: 0n, to: at }, at)
    return
  }
  const { code, from, to } = event
  if (code === 'source-gap') unit.counts.gapRecords += Number(to - from)
  else unit.counts.replacedRecords += Number(to - from)
  const message =
    code === 'source-gap'
      ? `${name}: offsets ${from} to ${to - 1n} were gone before they were read`
      : `${name}: the source has lost or replaced offsets ${from} to ${to - 1n}, which were copied`
  tell({ code, message, topic, partition, from, to })
}
