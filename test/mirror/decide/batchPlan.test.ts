import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { BatchVerdict } from '../../../engine/batch/aborted.ts'
import { control, type Header, logAppendTime } from '../../../engine/batch/header.ts'
import { type BatchFacts, batchPlan } from '../../../engine/mirror/decide/batchPlan.ts'

const position = 100n

function planOf(
  base: number,
  last: number,
  count: number,
  attributes = 0,
  verdict: BatchVerdict = 'keep',
  more: { bytes?: number; compression?: BatchFacts['compression']; bytesMax?: number | null } = {},
) {
  const header: Header = {
    baseOffset: BigInt(base),
    bytes: more.bytes ?? 5_000,
    partitionLeaderEpoch: 0,
    magic: 2,
    crc: 0,
    attributes,
    lastOffsetDelta: last - base,
    baseTimestamp: 0n,
    maxTimestamp: 0n,
    producerId: -1n,
    producerEpoch: -1,
    baseSequence: -1,
    recordsCount: count,
  }
  const { compression = 'keep', bytesMax = null } = more
  return batchPlan(header, { position, verdict, compression, bytesMax })
}

it('MIRROR 1: the first row that fits says what becomes of a batch (V-3)', () => {
  assert.deepEqual(planOf(0, 99, 100), { do: 'skip', why: 'below' })
  assert.deepEqual(planOf(90, 109, 20), { do: 'recode', why: 'position' })
  assert.deepEqual(planOf(100, 109, 10), { do: 'raw', small: false })
  assert.deepEqual(planOf(100, 109, 9), { do: 'recode', why: 'thin' })
  assert.deepEqual(planOf(100, 109, 0), { do: 'skip', why: 'empty' })
  assert.deepEqual(planOf(100, 100, 1, control), { do: 'skip', why: 'control' })
  assert.deepEqual(planOf(100, 109, 10, logAppendTime), { do: 'recode', why: 'append-time' })
  assert.deepEqual(planOf(120, 129, 10), { do: 'raw', small: false })
})

it('what is below the position is skipped before anything else is asked, what is aborted before it is decoded', () => {
  assert.deepEqual(planOf(0, 99, 50, control, 'drop'), { do: 'skip', why: 'below' })
  assert.deepEqual(planOf(90, 109, 20, 0, 'drop'), { do: 'skip', why: 'aborted' })
  assert.deepEqual(planOf(90, 109, 0), { do: 'skip', why: 'empty' })
  assert.deepEqual(planOf(100, 109, 1, control, 'control'), { do: 'skip', why: 'control' })
})

it('MIRROR 1: larger than the known limit of the destination is split (V-3), also before it would be compressed', () => {
  const limit = { bytesMax: 1_000 }
  assert.deepEqual(planOf(100, 109, 10, 0, 'keep', { ...limit, bytes: 1_001 }), { do: 'split' })
  assert.deepEqual(planOf(100, 109, 10, 0, 'keep', { ...limit, bytes: 1_000 }), { do: 'raw', small: true })
  assert.deepEqual(planOf(100, 109, 10, 0, 'keep', { ...limit, bytes: 1_001, compression: 'zstd' }), { do: 'split' })
})

it('a codec that is asked for recodes another one and compresses none; the same one passes', () => {
  const plan = (codec: number, compression: BatchFacts['compression']) =>
    planOf(100, 109, 10, codec, 'keep', { compression })
  assert.deepEqual(plan(3, 'lz4'), { do: 'raw', small: false })
  assert.deepEqual(plan(3, 'zstd'), { do: 'recode', why: 'codec' })
  assert.deepEqual(plan(3, 'none'), { do: 'recode', why: 'codec' })
  assert.deepEqual(plan(0, 'zstd'), { do: 'compress' })
  assert.deepEqual(plan(0, 'none'), { do: 'raw', small: false })
})

it('below 4,096 bytes a batch is small', () => {
  assert.deepEqual(planOf(100, 109, 10, 0, 'keep', { bytes: 4_095 }), { do: 'raw', small: true })
  assert.deepEqual(planOf(100, 109, 10, 0, 'keep', { bytes: 4_096 }), { do: 'raw', small: false })
})
