import type { BatchVerdict } from '../batch/aborted.ts'
import type { Codec } from '../batch/codec.ts'
import { compressed } from '../batch/compress.ts'
import { encode } from '../batch/encode.ts'
import { codecOf, type Header, nextOffset } from '../batch/header.ts'
import { piecesOf } from '../batch/pieces.ts'
import { type KafkaRecord, records } from '../batch/records.ts'
import { MillraceError } from '../errors.ts'
import { opened, stepOver } from '../flow/window.ts'
import { joinBatchesMin, joinBytesMax, joinRecordsBytesMax } from '../limits.ts'
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
    case 'compress': {
      const bytes = compressed(batch.bytes, codecNameOf(compression, header), ctx.codec)
      // What a codec cannot press comes out larger: it fits as it is, or would be refused for ever.
      if (unit.bytesMax !== null && bytes.length > unit.bytesMax) return send(on, batch, spanOf(unit, header, 'raw'))
      return sendMade(on, bytes, spanOf(unit, header, 'compress'))
    }
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
  const { unit } = on.run
  const bytes = batches.length < joinBatchesMin ? null : joined(on, batches)
  if (bytes === null) {
    for (const batch of batches) send(on, batch, spanOf(unit, batch.header, 'raw'))
    return
  }
  const { from } = spanOf(unit, (batches[0] as Batch).header, 'join')
  const newestMs = batches.reduce((ms, { header }) => Math.max(ms, Number(header.maxTimestamp)), 0)
  sendMade(on, bytes, { ...spanOf(unit, (batches.at(-1) as Batch).header, 'join'), from, newestMs })
}

/** Null: they go as they came. One that cannot be opened must not keep its neighbours, nor be named in their place. */
function joined(on: Passing, batches: readonly Batch[]): Buffer | null {
  const { unit, ctx } = on.run
  const all: KafkaRecord[] = []
  let bytes = 0
  for (const batch of batches) {
    const found = recordsOrNull(batch, ctx.codec)
    if (found === null) return null
    for (const record of found) {
      all.push(record)
      bytes += (record.key?.length ?? 0) + (record.value?.length ?? 0)
    }
    // A few bytes may be megabytes when they are opened.
    if (bytes > joinRecordsBytesMax) return null
  }
  const name = codecOf((batches[0] as Batch).header.attributes) ?? 'none'
  const made = encode(all, { codec: name, transactional: false }, ctx.codec, ctx.crc)
  // Another level of the same codec may press less.
  return made.length > (unit.bytesMax ?? made.length) ? null : made
}

function recordsOrNull(batch: Batch, codec: Codec): KafkaRecord[] | null {
  try {
    return records(batch, codec)
  } catch {
    return null
  }
}

/** Decoded and encoded again (M-35), in as many pieces as the destination's limit asks for (M-37). */
function remake(on: Passing, batch: Batch): void {
  const { unit, ctx } = on.run
  const { header } = batch
  const kept = openedRecords(on, batch).filter(record => record.offset >= unit.window.position)
  if (kept.length === 0) return stepOver(unit.window, nextOffset(header), header.partitionLeaderEpoch)
  const how = { codec: codecNameOf(ctx.compression, header), bytesMax: unit.bytesMax }
  const pieces = piecesOf(kept, how, ctx.codec, ctx.crc)
  const whole = spanOf(unit, header, pieces.length > 1 ? 'split' : 'recode')
  for (const [i, { bytes, from }] of pieces.entries()) {
    // A piece begins at a record: the offset of one that is refused alone is exact.
    sendMade(on, bytes, { ...whole, from, next: pieces[i + 1]?.from ?? whole.next })
  }
}

function codecNameOf(compression: Run['ctx']['compression'], header: Header) {
  return compression === 'keep' ? (codecOf(header.attributes) ?? 'none') : compression
}

/** Its CRC was right, so a batch that cannot be opened was written like that. */
function openedRecords({ run }: Passing, batch: Batch): KafkaRecord[] {
  try {
    return records(batch, run.ctx.codec)
  } catch (cause) {
    const { part, window } = run.unit
    const next = nextOffset(batch.header)
    const { baseOffset, partitionLeaderEpoch } = batch.header
    // The checkpoint stands at just what is named, so that a skip of it can be meant.
    if (window.position < baseOffset) stepOver(window, baseOffset, partitionLeaderEpoch)
    const at = `${part.topic}/${part.partition} at source offset ${window.position}`
    const message = `${at}: the batch up to offset ${next - 1n} cannot be opened: ${(cause as Error).message}`
    const hint = `it was written like that; what is lost without it: ${next - window.position} offsets from there on`
    throw new MillraceError('batch-corrupt', message, { cause, hint })
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
    // Behind a hole the batch before is another's, whose epoch may end before it.
    fromEpoch: span.from === window.position ? window.epoch : span.epoch,
    acked: false,
    later: null,
    records,
    bytes: batch.bytes.length,
    readMs,
  }
  opened(window, sent)
  run.lane.send(batch, sent)
}
