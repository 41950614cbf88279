import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import { stopReserveMs, stopTimeoutMs } from '../../engine/limits.ts'
import { silent } from '../../engine/ports/log.ts'
import { startLife } from '../../engine/process/stop.ts'
import { manualClock } from '../fakes/clock.ts'

function started() {
  const signals = new EventEmitter()
  const clock = manualClock()
  const codes: number[] = []
  const life = startLife({ clock, log: silent, exit: code => codes.push(code), signals })
  return { signals, clock, codes, life }
}

test('the first signal stops, the second aborts hard with its code', () => {
  const { signals, codes, life } = started()
  assert.equal(life.state, 'running')
  signals.emit('SIGTERM')
  assert.deepEqual(
    [life.state, life.stop.aborted, life.abort.aborted, life.reason],
    ['stopping', true, false, 'SIGTERM'],
  )
  signals.emit('SIGINT')
  assert.deepEqual([life.abort.aborted, codes], [true, [130]])
  life.close()
  assert.equal(signals.listenerCount('SIGTERM') + signals.listenerCount('SIGINT'), 0)
})

test('the deadline aborts; a stop that was drained in time is left alone', async () => {
  const late = started()
  late.signals.emit('SIGTERM')
  await late.clock.advance(stopTimeoutMs - stopReserveMs)
  assert.equal(late.life.abort.aborted, true)

  const quick = started()
  quick.signals.emit('SIGINT')
  quick.life.drained()
  await quick.clock.advance(stopTimeoutMs)
  quick.signals.emit('SIGINT')
  assert.deepEqual([quick.life.state, quick.life.abort.aborted, quick.codes], ['drained', false, []])
})
