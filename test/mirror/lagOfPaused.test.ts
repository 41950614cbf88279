import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noOverlay } from '../../engine/flow/overlay.ts'
import { batchOf } from '../fakes/kafka/batches.ts'
import { mirrorOf } from './mirrorOf.ts'

const part = { topic: 't', partition: 0 }

test('the lag of a paused partition is not known: what is written meanwhile is not told as a lag of 0', async () => {
  const mirror = mirrorOf({ brokers: 1 })
  const { clock, east } = mirror
  east.topic('t')
  east.write(part, batchOf(['a', 'b']))
  await mirror.start()
  const lag = () => {
    const { lagRecords, partitionsUnknown } = mirror.report() ?? {}
    return [lagRecords, partitionsUnknown]
  }
  await clock.until(() => mirror.report()?.records === 2)
  assert.deepEqual(lag(), [0, 0])

  mirror.change({ overlay: { ...noOverlay, paused: '*' } })
  await clock.until(() => [...mirror.units()].length === 0)
  east.write(part, batchOf(['c', 'd', 'e']))
  await clock.advance(5_000)
  assert.deepEqual(lag(), [null, 1])

  mirror.change({ overlay: noOverlay })
  await clock.until(() => mirror.report()?.records === 5)
  assert.deepEqual(lag(), [0, 0])
  await mirror.stop()
})
