import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startRunner } from '../../engine/fleet/runner.ts'
import { manualClock } from '../fakes/clock.ts'
import { fakeKind, lasting, transient } from './fakeKind.ts'

function started(retry = true) {
  const clock = manualClock()
  const fake = fakeKind()
  const stop = new AbortController()
  const abort = new AbortController()
  const counts = { changed: 0 }
  const fatal: unknown[] = []
  const runner = startRunner({
    worker: fake.worker,
    clock,
    // The middle of the curve.
    chance: () => 0.5,
    stop: stop.signal,
    abort: abort.signal,
    retry,
    changed: () => void counts.changed++,
    fatal: error => fatal.push(error),
  })
  const set = (...units: string[]) => runner.set(units.map(unit => ({ unit, weight: 1 })))
  const owned = () => [...runner.owned()].sort()
  return { clock, fake, stop, abort, counts, fatal, runner, set, owned }
}

test('what is wanted is started, what is wanted no more is stopped, and saying so twice changes nothing', async () => {
  const { clock, fake, counts, set, owned } = started()
  set('t/0', 't/1')
  set('t/0', 't/1')
  assert.deepEqual(fake.said(), ['+t/0', '+t/1'])
  fake.leaves = false
  set('t/1', 't/2')
  set('t/1', 't/2')
  assert.deepEqual(fake.said(), ['+t/2'])
  assert.equal(fake.unit('t/0').ctx.stop.aborted, true)
  assert.equal(fake.unit('t/1').ctx.stop.aborted, false)
  // It is owned until it has stopped.
  assert.deepEqual(owned(), ['t/0', 't/1', 't/2'])
  const before = counts.changed
  fake.unit('t/0').end()
  await clock.settle()
  assert.deepEqual(fake.said(), ['-t/0', 'left t/0'])
  assert.deepEqual(owned(), ['t/1', 't/2'])
  assert.equal(counts.changed, before + 1)
})

test('one that is wanted again while it stops begins anew when it has left and is asked for once more', async () => {
  const { clock, fake, set, owned } = started()
  set('t/0')
  fake.leaves = false
  set()
  set('t/0')
  assert.deepEqual(fake.said(), ['+t/0'])
  fake.unit('t/0').end()
  await clock.settle()
  assert.deepEqual(owned(), [])
  set('t/0')
  assert.deepEqual(fake.said(), ['-t/0', 'left t/0', '+t/0'])
})

test('what has ended by itself is over, and is not started again before it has left', async () => {
  const { clock, fake, runner, set, owned } = started()
  set('t/0')
  fake.unit('t/0').end()
  await clock.settle()
  assert.deepEqual([runner.over('t/0'), owned()], [true, ['t/0']])
  set('t/0')
  assert.deepEqual(fake.said(), ['+t/0', '-t/0'])
  set()
  assert.deepEqual([runner.over('t/0'), owned()], [false, []])
  set('t/0')
  assert.deepEqual(fake.said(), ['left t/0', '+t/0'])
})

test('what fails is tried again, each time later, and is owned meanwhile; after progress its next failure is a first one', async () => {
  const { clock, fake, set, owned } = started()
  set('t/0')
  const waits: number[] = []
  const failed = async (hasMoved: boolean) => {
    if (hasMoved) fake.unit('t/0').ctx.progress()
    fake.unit('t/0').fail(transient())
    const sinceMs = clock.nowMs()
    await clock.settle()
    assert.deepEqual(owned(), ['t/0'])
    await clock.until(() => fake.running.has('t/0'))
    waits.push(clock.nowMs() - sinceMs)
  }
  for (const hasMoved of [false, false, false, true, false]) await failed(hasMoved)
  assert.deepEqual(waits, [1_000, 2_000, 4_000, 1_000, 2_000])
})

test('an error that is not retryable is tried again too: what it is about may have been mended', async () => {
  const { clock, fake, runner, set } = started()
  set('t/0')
  fake.unit('t/0').fail(lasting())
  await clock.until(() => fake.running.has('t/0'))
  assert.equal(runner.over('t/0'), false)
})

test('those that wait for their next try have it now when they are told to, and only those', async () => {
  const { clock, fake, runner, set } = started()
  set('t/0', 't/1')
  runner.again()
  fake.unit('t/0').fail(transient())
  await clock.settle()
  // What was said before it failed does not count.
  assert.deepEqual([...fake.running.keys()], ['t/1'])
  runner.again()
  await clock.settle()
  assert.equal(clock.nowMs(), 0)
  assert.deepEqual([...fake.running.keys()].sort(), ['t/0', 't/1'])
  fake.said()
  fake.unit('t/0').fail(transient())
  await clock.settle()
  runner.again()
  await clock.settle()
  assert.deepEqual(fake.said(), ['-t/0', '+t/0'])
})

test('one that waits for its next try leaves at once', async () => {
  const { clock, fake, set, owned } = started()
  set('t/0')
  fake.unit('t/0').fail(transient())
  await clock.settle()
  set()
  await clock.settle()
  assert.equal(clock.nowMs(), 0)
  assert.deepEqual([fake.said(), owned()], [['+t/0', '-t/0', 'left t/0'], []])
})

test('without retry the first failure is the last', async () => {
  const { clock, fake, runner, set, owned } = started(false)
  set('t/0')
  fake.unit('t/0').fail(transient())
  await clock.advance(120_000)
  assert.deepEqual([runner.over('t/0'), owned(), fake.said()], [true, ['t/0'], ['+t/0', '-t/0']])
})

test('an error of our own is fatal', async () => {
  const { clock, fake, fatal, set } = started()
  set('t/0')
  const bug = new TypeError('a bug')
  fake.unit('t/0').fail(bug)
  await clock.settle()
  assert.deepEqual(fatal, [bug])
})

test('after the stop nothing begins, all leave, and idle ends when the last has', async () => {
  const { clock, fake, stop, runner, set, owned } = started()
  set('t/0', 't/1', 't/2')
  fake.unit('t/2').fail(transient())
  await clock.settle()
  fake.leaves = false
  stop.abort()
  let isIdle = false
  void runner.idle().then(() => {
    isIdle = true
  })
  set('t/0', 't/1', 't/2', 't/3')
  fake.unit('t/0').end()
  await clock.settle()
  assert.deepEqual([isIdle, owned()], [false, ['t/1']])
  // What fails after the stop has left.
  fake.unit('t/1').fail(transient())
  await clock.settle()
  assert.deepEqual([isIdle, owned()], [true, []])
  assert.ok(!fake.said().includes('+t/3'))
})
