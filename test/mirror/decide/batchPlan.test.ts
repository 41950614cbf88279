import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { BatchVerdict } from '../../../engine/batch/aborted.ts'
import { control, type Header, logAppendTime } from '../../../engine/batch/header.ts'
import { batchPlan } from '../../../engine/mirror/decide/batchPlan.ts'

const position = 100n

function planOf(base: number, last: number, count: number, attributes = 0, verdict: BatchVerdict = 'keep') {
  const header: Header = {
    baseOffset: BigInt(base),
    bytes: 500,
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
  return batchPlan(header, { position, verdict })
}

it('MIRROR 1: the first row that fits says what becomes of a batch (V-3)', () => {
  assert.deepEqual(planOf(0, 99, 100), { do: 'skip', why: 'below' })
  assert.deepEqual(planOf(90, 109, 20), { do: 'recode', why: 'position' })
  assert.deepEqual(planOf(100, 109, 10), { do: 'raw' })
  assert.deepEqual(planOf(100, 109, 9), { do: 'recode', why: 'thin' })
  assert.deepEqual(planOf(100, 109, 0), { do: 'skip', why: 'empty' })
  assert.deepEqual(planOf(100, 100, 1, control), { do: 'skip', why: 'control' })
  assert.deepEqual(planOf(100, 109, 10, logAppendTime), { do: 'recode', why: 'append-time' })
  assert.deepEqual(planOf(120, 129, 10), { do: 'raw' })
})

it('what is below the position is skipped before anything else is asked, what is aborted before it is decoded', () => {
  assert.deepEqual(planOf(0, 99, 50, control, 'drop'), { do: 'skip', why: 'below' })
  assert.deepEqual(planOf(90, 109, 20, 0, 'drop'), { do: 'skip', why: 'aborted' })
  assert.deepEqual(planOf(90, 109, 0), { do: 'skip', why: 'empty' })
  assert.deepEqual(planOf(100, 109, 1, control, 'control'), { do: 'skip', why: 'control' })
})
