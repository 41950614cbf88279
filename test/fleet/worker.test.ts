import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FaultCode } from '../../engine/errors.ts'
import { paths } from '../../engine/fleet/decide/documents/paths.ts'
import { manualClock } from '../fakes/clock.ts'
import { lasting, transient } from './fakeKind.ts'
import { workerOf } from './workerOf.ts'

const places = (...units: number[]) => units.map(n => `f/t/${n}`)
const upTo = (n: number) => places(...Array(n).keys())

/** Registered, with these units of flow `f` running. */
async function running(count: number) {
  const one = workerOf()
  one.flow('f')
  await one.registered()
  one.assign(1, upTo(count))
  await one.clock.until(() => one.fake.running.size === count, 5_000)
  await one.clock.advance(50)
  return one
}

test('a worker registers with an empty report, runs what it is given, and reports it', async () => {
  const one = workerOf()
  one.flow('f')
  await one.registered()
  assert.deepEqual(
    [one.node()?.state, one.node()?.leaseMs, one.held().generation, one.held().names],
    ['ready', 7_000, 0, []],
  )
  one.assign(1, ['f/t/0', 'f/t/1'])
  await one.clock.advance(50)
  assert.deepEqual(one.runs(), ['t/0', 't/1'])
  const { epoch, generation, names, state } = one.held()
  assert.deepEqual([epoch, generation, names, state], [1, 1, ['f/t/0', 'f/t/1'], 'running'])
  // The hint alone brought it: no beat has passed.
  assert.ok(one.clock.nowMs() < 2_000)
})

test('what is withdrawn is held until it has stopped, each by itself, and what is given begins meanwhile', async () => {
  const one = await running(3)
  one.fake.leaves = false
  one.assign(2, ['f/t/2', 'f/t/9'])
  await one.clock.advance(50)
  assert.deepEqual([one.held().generation, one.held().names], [2, ['f/t/0', 'f/t/1', 'f/t/2', 'f/t/9']])
  assert.ok(one.fake.running.has('t/9'))
  one.fake.unit('t/0').end()
  await one.clock.advance(50)
  assert.deepEqual(one.held().names, ['f/t/1', 'f/t/2', 'f/t/9'])
  one.fake.unit('t/1').end()
  await one.clock.advance(50)
  assert.deepEqual(one.held().names, ['f/t/2', 'f/t/9'])
})

test('a document that is older, or the same, changes nothing; a stale one is counted', async () => {
  const one = await running(2)
  one.assign(3, upTo(1), 0 + 1)
  await one.clock.advance(50)
  assert.deepEqual(one.runs(), ['t/0'])
  one.assign(2, upTo(5))
  await one.clock.advance(50)
  assert.deepEqual([one.runs(), one.worker.state().stale, one.held().generation], [['t/0'], 1, 3])
  one.assign(99, upTo(5), 2)
  await one.clock.advance(50)
  assert.deepEqual([one.runs().length, one.held().epoch, one.held().generation], [5, 2, 99])
})

test('a lost hint costs a beat at most', async () => {
  const one = await running(1)
  one.coordination.dropHints(100)
  one.assign(2, upTo(2))
  await one.clock.advance(2_000)
  assert.deepEqual(one.runs(), ['t/0', 't/1'])
})

test('a document that cannot be read changes nothing, is told once, and the next good one is taken', async () => {
  const one = await running(2)
  one.put(paths.assignment('w'), '{"chunks":0,"epoch":1,"flows":{"f":{"t":"3-3"}},"generation":2,"v":1}')
  await one.clock.advance(10_000)
  assert.deepEqual([one.runs().length, one.worker.state().trouble?.code], [2, 'state-corrupt'])
  assert.equal(one.events.length, 1)
  one.assign(2, upTo(1))
  await one.clock.advance(50)
  assert.deepEqual([one.runs(), one.worker.state().trouble], [['t/0'], null])
})

test('COORDINATION 7: a unit whose run has returned is not held, and not run again from one document', async () => {
  const one = await running(2)
  one.fake.unit('t/0').end()
  await one.clock.advance(50)
  assert.deepEqual(one.held().names, ['f/t/1'])
  one.assign(2, upTo(3))
  await one.clock.advance(60_000)
  assert.deepEqual(
    [one.runs(), one.held().names],
    [
      ['t/1', 't/2'],
      ['f/t/1', 'f/t/2'],
    ],
  )
  one.assign(3, ['f/t/1', 'f/t/2'])
  await one.clock.advance(50)
  one.assign(4, upTo(3))
  await one.clock.advance(50)
  assert.deepEqual(one.runs(), ['t/0', 't/1', 't/2'])
})

test('what fails stays held, is shown as an error, and is tried again by its curve', async () => {
  const one = await running(2)
  one.fake.unit('t/0').fail(transient())
  one.fake.measured.set('t/0', { code: 'kafka-unreachable', offset: 7n, sinceMs: 40 })
  await one.clock.advance(900)
  assert.deepEqual([one.runs(), one.held().names.length], [['t/1'], 2])
  await one.clock.advance(1_200)
  assert.equal(one.runs().length, 2)
  const [error] = one.held().errors
  assert.deepEqual([error?.unit, error?.code, error?.offset], ['f/t/0', 'kafka-unreachable', '7'])
  assert.equal(error?.sinceMs, 1_700_000_000_040)
  one.fake.measured.clear()
  await one.clock.advance(2_000)
  assert.deepEqual(one.held().errors, [])
})

test('a changed flow goes on with what has changed, or is opened anew, and its units never change hands', async () => {
  const one = await running(2)
  one.fake.unit('t/0').fail(lasting())
  await one.clock.advance(10)
  one.flow('f', { spec: { a: 1 } })
  one.assign(2, upTo(2))
  await one.clock.advance(50)
  // What waits is tried at once (C-38).
  assert.deepEqual([one.runs(), one.fake.specs.length], [['t/0', 't/1'], 1])
  one.fake.restarts = true
  one.fake.said()
  one.flow('f', { spec: { a: 2 } })
  one.assign(3, upTo(3))
  await one.clock.advance(50)
  assert.deepEqual(one.fake.specs.at(-1), { a: 2 })
  assert.deepEqual(one.held().names, upTo(3))
  // What is new did not begin under the old spec.
  const said = one.fake.said()
  assert.deepEqual([said.indexOf('+t/2') > said.indexOf('open'), one.runs().length], [true, 3])
})

test('units of a flow that cannot be read are held and in error; the flow mended, they run', async () => {
  const one = workerOf()
  one.flow('f')
  one.flow('g', { kind: 'other' })
  await one.registered()
  one.assign(1, ['f/t/0', 'g/t/0'])
  await one.clock.advance(50)
  assert.deepEqual([one.runs(), one.held().names], [['t/0'], ['f/t/0', 'g/t/0']])
  assert.deepEqual(
    one.held().errors.map(error => [error.unit, error.code]),
    [['g/t/0', 'config-invalid']],
  )
  one.flow('g')
  one.assign(2, ['f/t/0', 'g/t/0'])
  await one.clock.advance(2_100)
  assert.deepEqual([one.fake.specs.length, one.held().errors], [2, []])
})

test('a flow that has no unit here any more is closed', async () => {
  const one = await running(1)
  one.assign(2, [])
  await one.clock.advance(50)
  assert.deepEqual([one.fake.said().at(-1), one.held().names, [...one.worker.flows()]], ['close', [], []])
  // Given again, from the same document, it is opened again.
  one.assign(3, upTo(2))
  await one.clock.advance(50)
  assert.deepEqual([one.fake.said(), one.held().names], [['open', '+t/0', '+t/1'], upTo(2)])
})

test('what is measured is written each 10 s', async () => {
  const one = await running(2)
  one.fake.measured.set('t/1', { bytesPerSecond: 12.4, lagRecords: null, state: 'stalled' })
  await one.clock.advance(10_000)
  assert.equal(
    one.coordination.tree.read(paths.stats('w'))?.data.replace(/"atMs":\d+/, '"atMs":0'),
    '{"atMs":0,"flows":{"f":{"t":["0-1",[0,12],[0,-1]]}},"states":{"f":{"t":{"stalled":"1"}}},"v":1}',
  )
})

/** Flow `g` cannot be read until the next beat: it is asked for after the assignment was taken, and after the look. */
function unread(one: ReturnType<typeof workerOf>, code: FaultCode): void {
  for (let n = 0; n < 2; n++) one.coordination.failNext(code, asked => asked.paths.includes(paths.flow('g')))
}

test('a document of a flow that is not answered is asked for again, and what was answered of others is taken', async () => {
  const one = workerOf()
  one.flow('f')
  one.flow('g')
  await one.registered()
  unread(one, 'coordination-unreachable')
  one.assign(1, ['f/t/0', 'g/t/1'])
  await one.clock.advance(50)
  assert.deepEqual(one.runs(), ['t/0'])
  await one.clock.advance(2_000)
  assert.deepEqual([one.runs(), one.held().errors], [['t/0', 't/1'], []])
})

test('a document of a flow that this worker may not read is an error of its units, and of no others', async () => {
  const one = workerOf()
  one.flow('f')
  one.flow('g')
  await one.registered()
  unread(one, 'coordination-denied')
  one.assign(1, ['f/t/0', 'g/t/1'])
  await one.clock.advance(50)
  assert.deepEqual(
    [one.runs(), one.held().errors.map(({ unit, code }) => [unit, code])],
    [['t/0'], [['g/t/1', 'coordination-denied']]],
  )
  await one.clock.advance(2_000)
  assert.deepEqual([one.runs(), one.held().errors], [['t/0', 't/1'], []])
})

test('an error that stays is written once, whatever the clocks of the machine say of its beginning', async () => {
  const clock = manualClock()
  // Two clocks of one machine: what one says in whole milliseconds the other does not.
  let read = 0
  const one = workerOf({ clock: { ...clock, wallMs: () => clock.wallMs() + (read++ % 2) } })
  one.flow('f')
  await one.registered()
  one.assign(1, upTo(1))
  one.fake.measured.set('t/0', { code: 'kafka-unreachable' })
  await clock.advance(2_000)
  const { version } = one.coordination.tree.read(paths.held('w')) ?? {}
  assert.equal(one.held().errors.length, 1)
  await clock.advance(20_000)
  assert.equal(one.coordination.tree.read(paths.held('w'))?.version, version)
})
