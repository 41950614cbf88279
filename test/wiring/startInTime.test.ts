import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FaultCode } from '../../engine/errors.ts'
import { type Standing, startInTime } from '../../engine/wiring/startInTime.ts'
import { manualClock } from '../fakes/clock.ts'

function started(code: FaultCode | null) {
  const clock = manualClock()
  const standing: Standing = {
    registered: false,
    trouble: code && { code, message: 'no server serves us', hint: 'look at the network' },
  }
  const work = Promise.withResolvers<string>()
  let end: unknown = 'it goes on'
  const done = startInTime(work.promise, () => standing, { clock, withinMs: 20_000 })
  done.then(
    value => (end = value),
    error => (end = `${error.code}: ${error.message}; ${error.hint}`),
  )
  return { clock, standing, work, end: () => end }
}

test('C-64: a process that reaches no coordination in time ends, for whoever started it to start it anew', async () => {
  const one = started('coordination-unreachable')
  await one.clock.advance(19_000)
  assert.equal(one.end(), 'it goes on')
  await one.clock.advance(2_000)
  assert.equal(
    one.end(),
    'coordination-unreachable: not reached within 20 s of the start: no server serves us; look at the network',
  )
})

test('a process that was registered once never ends for it, and one that is refused waits (C-84)', async () => {
  const [known, refused] = [started('coordination-unreachable'), started('coordination-denied')]
  await known.clock.advance(10_000)
  known.standing.registered = true
  await known.clock.advance(2_000)
  known.standing.registered = false
  await Promise.all([known.clock.advance(600_000), refused.clock.advance(600_000)])
  assert.deepEqual([known.end(), refused.end()], ['it goes on', 'it goes on'])
  known.work.resolve('done')
  await known.clock.settle()
  assert.equal(known.end(), 'done')
})
