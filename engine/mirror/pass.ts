import type { BatchVerdict } from '../batch/aborted.ts'
import { compressed } from '../batch/compress.ts'
import { codecOf, type Header, nextOffset } from '../batch/header.ts'
import { piecesOf, type TooLarge } from '../batch/pieces.ts'
import { type KafkaRecord, records } from '../batch/records.ts'
import { MillraceError } from '../errors.ts'
import { opened, stepOver } from '../flow/window.ts'
import { joinBatchesMin, joinBytesMax } from '../limits.ts'
import type { Batch, Stream } from '../ports/kafka.ts'
import type { BatchPath } from './counts.ts'
import { batchPlan } from './decide/batchPlan.ts'
import type { Run, Sent, Unit } from './run.ts'

/** What one answer of the source becomes on its way to the lane. */
export type Passing = {
  run: Run
  stream: Stream
  readMs: number
  /** Small ones in a row that wait for their neighbours (M-38). */
  small: Batch[]
  smallBytes: number
}

/** What the checkpoint window must know of a batch that is sent. */
type Span = Pick<Sent, 'from' | 'next' | 'epoch' | 'newestMs' | 'path'>

/** One batch by M-30. It is read on, or sent, or waits for its neighbours until `passSmall`. */
export function pass(on: Passing, batch: Batch, verdict: BatchVerdict): void {
  const { unit, ctx } = on.run
  const { header } = batch
  const position = positionOf(on)
  const { compression } = ctx
  const plan = batchPlan(header, { position, verdict, compression, bytesMax: unit.bytesMax })
  if (plan.do === 'raw' && plan.small && header.baseOffset >= unit.aloneTo) return hold(on, batch)
  passSmall(on)
  switch (plan.do) {
    case 'raw':
      return send(on, batch, spanOf(unit, header, 'raw'))
    case 'compress':
      // Without the codec that is asked for, nothing is compressed.
      return sendMade(
        on,
        compressed(batch.bytes, codecNameOf(compression, header), ctx.codec),
        spanOf(unit, header, 'compress'),
      )
    case 'recode':
    case 'split':
      return remake(on, batch)
    case 'skip': {
      const next = nextOffset(header)
      // Read a second time after it was taken back, it is not counted a second time.
      if (plan.why === 'aborted' && next > unit.skippedTo) {
        unit.skippedTo = next
        unit.counts.skippedAborted += header.recordsCount
      }
      stepOver(unit.window, next, header.partitionLeaderEpoch)
    }
  }
}

/** Where the next batch begins when those that wait are sent. */
function positionOf({ run, small }: Passing): bigint {
  const last = small.at(-1)
  return last ? nextOffset(last.header) : run.unit.window.position
}

function hold(on: Passing, batch: Batch): void {
  const { run, small } = on
  const first = small[0]
  const limit = Math.min(joinBytesMax, run.unit.bytesMax ?? joinBytesMax)
  const alike = !first || first.header.attributes === batch.header.attributes
  if (!alike || on.smallBytes + batch.bytes.length > limit) passSmall(on)
  on.small.push(batch)
  on.smallBytes += batch.bytes.length
}

/** Sends what waits: as it came, or joined when there is much of it (M-38). */
export function passSmall(on: Passing): void {
  const batches = on.small
  if (batches.length === 0) return
  on.small = []
  on.smallBytes = 0
  const { unit, ctx } = on.run
  if (batches.length < joinBatchesMin) {
    for (const batch of batches) send(on, batch, spanOf(unit, batch.header, 'raw'))
    return
  }
  const first = batches[0] as Batch
  const last = batches.at(-1) as Batch
  const all = batches.flatMap(batch => openedRecords(on, batch))
  const how = { codec: codecOf(first.header.attributes) ?? 'none', bytesMax: null }
  const [piece] = piecesOf(all, how, ctx.codec, ctx.crc).pieces
  if (!piece) return
  const newest = batches.reduce((ms, { header }) => Math.max(ms, Number(header.maxTimestamp)), 0)
  const end = spanOf(unit, last.header, 'join')
  sendMade(on, piece.bytes, { ...end, from: spanOf(unit, first.header, 'join').from, newestMs: newest })
}

/** Decoded and encoded again (M-35), in as many pieces as the destination's limit asks for (M-37). */
function remake(on: Passing, batch: Batch): void {
  const { unit, ctx } = on.run
  const { header } = batch
  const kept = openedRecords(on, batch).filter(record => record.offset >= unit.window.position)
  if (kept.length === 0) return stepOver(unit.window, nextOffset(header), header.partitionLeaderEpoch)
  const how = { codec: codecNameOf(ctx.compression, header), bytesMax: unit.bytesMax }
  const { pieces, tooLarge } = piecesOf(kept, how, ctx.codec, ctx.crc)
  const whole = spanOf(unit, header, pieces.length > 1 ? 'split' : 'recode')
  for (const [i, piece] of pieces.entries()) {
    const next = pieces[i + 1]?.from ?? tooLarge?.offset ?? whole.next
    const from = i === 0 ? whole.from : piece.from
    sendMade(on, piece.bytes, { ...whole, from, next })
  }
  if (tooLarge) throw tooLargeError(unit, tooLarge)
}

function codecNameOf(compression: Run['ctx']['compression'], header: Header) {
  return compression === 'keep' ? (codecOf(header.attributes) ?? 'none') : compression
}

/** Its CRC was right, so a batch that cannot be opened was written like that. */
function openedRecords({ run }: Passing, batch: Batch): KafkaRecord[] {
  try {
    return records(batch, run.ctx.codec)
  } catch (cause) {
    const { part } = run.unit
    const at = `${part.topic}/${part.partition} at source offset ${batch.header.baseOffset}`
    const message = `${at}: the batch cannot be opened: ${(cause as Error).message}`
    throw new MillraceError('batch-corrupt', message, { cause })
  }
}

function spanOf(unit: Unit, header: Header, path: BatchPath): Span {
  const { position } = unit.window
  let from = header.baseOffset
  if (from < position) from = position
  return {
    from,
    next: nextOffset(header),
    epoch: header.partitionLeaderEpoch,
    newestMs: Number(header.maxTimestamp),
    path,
  }
}

function sendMade(on: Passing, bytes: Buffer, span: Span): void {
  const made = on.stream.made(bytes)
  send(on, made, span)
  made.release()
}

function send({ run, readMs }: Passing, batch: Batch, span: Span): void {
  const { window } = run.unit
  const records = batch.header.recordsCount
  const sent: Sent = {
    ...span,
    fromEpoch: window.epoch,
    acked: false,
    later: null,
    records,
    bytes: batch.bytes.length,
    readMs,
  }
  opened(window, sent)
  run.lane.send(batch, sent)
}

function tooLargeError(unit: Unit, { offset, bytes }: TooLarge): MillraceError {
  const { part, destination, bytesMax } = unit
  const message = `${part.topic}/${part.partition} at source offset ${offset}: one record alone makes a batch of ${bytes} bytes, and ${destination.topic} takes ${bytesMax}`
  return new MillraceError('record-too-large', message, { hint: 'raise max.message.bytes of the destination topic' })
}
