import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MillraceError } from '../../engine/errors.ts'
import { startRunner } from '../../engine/fleet/runner.ts'
import { turnsOf } from '../../engine/fleet/turns.ts'
import { manualClock } from '../fakes/clock.ts'
import { fakeKind, transient } from './fakeKind.ts'

function started(atOnceMax = 64) {
  const clock = manualClock()
  const fake = fakeKind()
  const stop = new AbortController()
  const abort = new AbortController()
  const ended: string[] = []
  const dirty: string[] = []
  const runner = startRunner({
    ...{ worker: fake.worker, clock, chance: () => 0.5, stop: stop.signal, abort: abort.signal, retry: true },
    changed() {},
    fatal: error => assert.fail(error as Error),
    fleet: {
      stops: turnsOf(atOnceMax),
      unitStopMs: 10_000,
      ended: unit => void ended.push(unit),
      dirty: unit => void dirty.push(unit),
    },
  })
  const set = (...units: string[]) => runner.set(units.map(unit => ({ unit })))
  const owned = () => [...runner.owned()].sort()
  return { clock, fake, stop, abort, ended, dirty, runner, set, owned }
}

test('a unit whose run has returned has ended: it leaves at once, and so does one without a checkpoint', async () => {
  const { clock, fake, ended, set, owned } = started()
  set('t/0', 't/1', 't/2')
  fake.unit('t/0').end()
  fake.unit('t/1').fail(new MillraceError('checkpoint-lost', 'gone'))
  await clock.advance(2_000)
  assert.deepEqual([ended, owned()], [['t/0', 't/1'], ['t/2']])
  assert.deepEqual(fake.said().slice(3), ['-t/0', '-t/1', 'left t/0', 'left t/1'])
})

test('while the lease closes all stop in order and stay ours; open again, they go on', async () => {
  const { clock, fake, ended, runner, set, owned } = started()
  set('t/0', 't/1')
  fake.leaves = false
  runner.hold()
  assert.deepEqual(
    [...fake.running.values()].map(({ ctx }) => [ctx.stop.aborted, ctx.abort.aborted]),
    [
      [true, false],
      [true, false],
    ],
  )
  let isQuiet = false
  void runner.quiet().then(() => {
    isQuiet = true
  })
  fake.unit('t/0').end()
  await clock.settle()
  assert.deepEqual([isQuiet, owned(), ended], [false, ['t/0', 't/1'], []])
  fake.unit('t/1').end()
  set('t/0', 't/1', 't/2')
  await clock.advance(60_000)
  assert.deepEqual([isQuiet, owned(), [...fake.running.keys()]], [true, ['t/0', 't/1', 't/2'], []])
  fake.leaves = true
  runner.release()
  await clock.settle()
  assert.deepEqual([...fake.running.keys()].sort(), ['t/0', 't/1', 't/2'])
  assert.deepEqual(
    fake.said().filter(line => line.startsWith('left')),
    [],
  )
})

test('at the fence what runs is aborted; what waits for its next try, or is withdrawn meanwhile, does not begin', async () => {
  const { clock, fake, runner, set, owned } = started()
  set('t/0', 't/1', 't/2')
  fake.unit('t/2').fail(transient())
  await clock.settle()
  fake.leaves = false
  runner.cut()
  assert.deepEqual(
    [...fake.running.values()].map(({ ctx }) => ctx.abort.aborted),
    [true, true],
  )
  for (const unit of ['t/0', 't/1']) fake.unit(unit).end()
  await clock.advance(60_000)
  assert.deepEqual([[...fake.running.keys()], owned()], [[], ['t/0', 't/1', 't/2']])
  set('t/0', 't/2')
  await clock.settle()
  assert.deepEqual(owned(), ['t/0', 't/2'])
  runner.release()
  await clock.settle()
  assert.deepEqual([...fake.running.keys()].sort(), ['t/0', 't/2'])
  assert.deepEqual(
    [...fake.running.values()].map(({ ctx }) => [ctx.stop.aborted, ctx.abort.aborted]),
    [
      [false, false],
      [false, false],
    ],
  )
})

test('one that does not stop within 10 s is aborted and counted; it stays ours until it has ended', async () => {
  const { clock, fake, dirty, set, owned } = started()
  set('t/0', 't/1')
  fake.leaves = false
  set('t/1')
  await clock.advance(9_999)
  assert.deepEqual([dirty, fake.unit('t/0').ctx.abort.aborted], [[], false])
  await clock.advance(1)
  assert.deepEqual([dirty, fake.unit('t/0').ctx.abort.aborted], [['t/0'], true])
  await clock.advance(60_000)
  assert.deepEqual(owned(), ['t/0', 't/1'])
  fake.unit('t/0').end()
  await clock.settle()
  assert.deepEqual([owned(), dirty], [['t/1'], ['t/0']])
})

test('so many stop at once and no more; the others go on until it is their turn, and starts do not wait', async () => {
  const { clock, fake, set, owned } = started(2)
  set('t/0', 't/1', 't/2', 't/3')
  fake.leaves = false
  set('t/9')
  const stopped = () => [...fake.running].filter(([, { ctx }]) => ctx.stop.aborted).map(([unit]) => unit)
  assert.deepEqual([stopped(), fake.running.has('t/9')], [['t/0', 't/1'], true])
  // One that is wanted again before its turn has come does not stop.
  set('t/9', 't/3')
  fake.unit('t/0').end()
  await clock.settle()
  assert.deepEqual(stopped(), ['t/1', 't/2'])
  fake.unit('t/1').end()
  fake.unit('t/2').end()
  await clock.settle()
  assert.deepEqual([owned(), stopped()], [['t/3', 't/9'], []])
})

test('at the stop of the process all stop side by side, and none is aborted by itself', async () => {
  const { clock, fake, stop, dirty, runner, set } = started(2)
  set('t/0', 't/1', 't/2', 't/3')
  fake.leaves = false
  stop.abort()
  assert.deepEqual(
    [...fake.running.values()].map(({ ctx }) => ctx.stop.aborted),
    [true, true, true, true],
  )
  await clock.advance(25_000)
  assert.deepEqual(dirty, [])
  for (const one of [...fake.running.values()]) one.end()
  await runner.idle()
  assert.equal(runner.owned().size, 0)
})
