import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codec, crc32c } from '../../engine/adapters/kafka/native.ts'
import { startSolo } from '../../engine/fleet/solo.ts'
import type { FlowPlan } from '../../engine/fleet/soloFlow.ts'
import { noOverlay, type Overlay } from '../../engine/flow/overlay.ts'
import { manualClock } from '../fakes/clock.ts'
import { fakeKind, transient } from './fakeKind.ts'

type Fake = ReturnType<typeof fakeKind>

/** A flow for each fake, by its name, each with one unit `t/0`. */
function started(names: string[], more: { untilEnd?: boolean; prepare?: (fake: Fake) => void } = {}) {
  const clock = manualClock()
  const stop = new AbortController()
  const abort = new AbortController()
  const fakes = new Map<string, Fake>()
  const broke: [string, unknown][] = []
  const planOf = (name: string, spec: unknown = 1, overlay: Overlay = noOverlay): [string, FlowPlan] => {
    let fake = fakes.get(name)
    if (!fake) {
      fake = fakeKind()
      fake.shown.units.push('t/0')
      more.prepare?.(fake)
      fakes.set(name, fake)
    }
    return [name, { kind: fake.kind, spec, overlay }]
  }
  const solo = startSolo(new Map(names.map(name => planOf(name))), {
    ...{ clock, codec, crc: crc32c, stop: stop.signal, abort: abort.signal, untilEnd: more.untilEnd ?? false },
    kafka: () => assert.fail('there is no Kafka here'),
    chance: () => 0.5,
    tell() {},
    broke: (flow, error) => void broke.push([flow, error]),
  })
  const end: { done: { whole: boolean } | null; error: unknown } = { done: null, error: null }
  solo.done.then(
    done => {
      end.done = done
    },
    error => {
      end.error = error
    },
  )
  const flow = (name: string): Fake => {
    const found = fakes.get(name)
    if (!found) throw new Error(`there is no flow ${name}`)
    return found
  }
  return {
    ...{ clock, stop, abort, solo, broke, end, planOf, flow },
    names: () => [...solo.flows()].map(one => one.flow),
    apply: (...plans: [string, FlowPlan][]) => solo.apply(new Map(plans)),
  }
}

test('each flow runs its units, and all end with the stop', async () => {
  const { clock, stop, flow, end, names } = started(['f', 'g'])
  await clock.settle()
  assert.deepEqual(names(), ['f', 'g'])
  for (const name of names()) assert.deepEqual(flow(name).said(), ['open', '+t/0'])
  stop.abort()
  await clock.settle()
  for (const name of names()) assert.deepEqual(flow(name).said(), ['-t/0', 'left t/0', 'close'])
  assert.deepEqual(end.done, { whole: true })
})

test('one whose checkpoints are not all stored makes the end not whole', async () => {
  const { clock, stop, flow, end } = started(['f', 'g'])
  await clock.settle()
  flow('f').whole = false
  stop.abort()
  await clock.settle()
  assert.deepEqual(end.done, { whole: false })
})

test('an end that waits no longer is not whole', async () => {
  const { clock, stop, abort, flow, end } = started(['f'])
  await clock.settle()
  flow('f').leaves = false
  stop.abort()
  await clock.advance(60_000)
  assert.equal(end.done, null)
  abort.abort()
  flow('f').unit('t/0').end()
  await clock.settle()
  assert.deepEqual(end.done, { whole: false })
})

test('what is declared anew begins, what has left is stopped, and the others go on untouched', async () => {
  const { clock, apply, planOf, flow, names, end } = started(['f', 'g'])
  await clock.settle()
  flow('f').said()
  assert.deepEqual(apply(planOf('f'), planOf('h')), [])
  await clock.settle()
  assert.deepEqual(names(), ['f', 'h'])
  assert.deepEqual(flow('f').said(), [])
  assert.deepEqual(flow('g').said(), ['open', '+t/0', '-t/0', 'left t/0', 'close'])
  assert.deepEqual(flow('h').said(), ['open', '+t/0'])
  assert.equal(end.done, null)
})

test('a changed spec is taken by the flow that runs: it looks at once, and what waits is tried at once', async () => {
  const { clock, apply, planOf, flow } = started(['f'])
  await clock.settle()
  flow('f').unit('t/0').fail(transient())
  await clock.settle()
  flow('f').said()
  const { looks } = flow('f')
  apply(planOf('f', 2))
  await clock.settle()
  assert.equal(clock.nowMs(), 0)
  assert.equal(flow('f').looks, looks + 1)
  assert.deepEqual(flow('f').said(), ['+t/0'])
})

test('a change that needs a restart waits until the old one has let go', async () => {
  const { clock, apply, planOf, flow, names } = started(['f'])
  await clock.settle()
  flow('f').leaves = false
  flow('f').restarts = true
  flow('f').said()
  apply(planOf('f', 2))
  await clock.advance(5_000)
  assert.deepEqual(flow('f').said(), [])
  // What is declared last counts, also meanwhile.
  apply(planOf('f', 3))
  flow('f').unit('t/0').end()
  await clock.settle()
  assert.deepEqual(flow('f').said(), ['-t/0', 'left t/0', 'close', 'open', '+t/0'])
  assert.deepEqual([flow('f').specs, names()], [[1, 3], ['f']])
})

test('a restart is no end, also when no other flow runs any more', async () => {
  const { clock, apply, planOf, flow, end } = started(['f', 'g'])
  await clock.settle()
  flow('f').leaves = false
  flow('f').restarts = true
  apply(planOf('f', 2), planOf('g'))
  flow('g').unit('t/0').fail(new TypeError('a bug'))
  await clock.settle()
  flow('f').unit('t/0').end()
  await clock.settle()
  assert.deepEqual([flow('f').specs, end], [[1, 2], { done: null, error: null }])
})

test('one that leaves while it is restarted does not come back', async () => {
  const { clock, apply, planOf, flow, names } = started(['f', 'g'])
  await clock.settle()
  flow('f').leaves = false
  flow('f').restarts = true
  apply(planOf('f', 2), planOf('g'))
  apply(planOf('g'))
  flow('f').unit('t/0').end()
  await clock.settle()
  assert.deepEqual([flow('f').specs, names()], [[1], ['g']])
})

test('a change that one flow does not take leaves all as they were, unless that flow is paused', async () => {
  const paused: Overlay = { ...noOverlay, paused: '*' }
  const { clock, apply, planOf, flow, names } = started(['f', 'g'])
  await clock.settle()
  flow('f').refuses = true
  const before = flow('g').log.length
  assert.deepEqual(
    apply(planOf('f', 2), planOf('h')).map(({ flow, fault }) => [flow, fault.message]),
    [['f', 'not now']],
  )
  await clock.settle()
  assert.deepEqual([names(), flow('g').log.length], [['f', 'g'], before])
  flow('f').refuses = false
  assert.deepEqual(apply(planOf('f', 1, paused), planOf('g')), [])
  flow('f').refuses = true
  assert.deepEqual(apply(planOf('f', 2, paused), planOf('h')), [])
  assert.deepEqual(names(), ['f', 'h'])
})

test('what a change names is opened before its flows begin, and not when the change is not taken', async () => {
  const { clock, solo, planOf, flow, names } = started(['f'])
  await clock.settle()
  const opened: string[][] = []
  const taken = () => opened.push(names())
  flow('f').refuses = true
  assert.equal(solo.apply(new Map([planOf('f', 2), planOf('h')]), taken).length, 1)
  assert.deepEqual(opened, [])
  flow('f').refuses = false
  assert.deepEqual(solo.apply(new Map([planOf('f', 2), planOf('h')]), taken), [])
  assert.deepEqual([opened, names()], [[['f']], ['f', 'h']])
})

test('paused partitions leave, and come back when they are resumed', async () => {
  const { clock, apply, planOf, flow } = started(['f'], { prepare: fake => fake.shown.units.push('t/1', 'u/0') })
  await clock.settle()
  flow('f').said()
  const paused = async (paused: Overlay['paused']) => {
    apply(planOf('f', 1, { ...noOverlay, paused }))
    await clock.settle()
    flow('f').said()
    return [...flow('f').running.keys()].sort()
  }
  assert.deepEqual(await paused(new Map([['t', new Set([1])]])), ['t/0', 'u/0'])
  assert.deepEqual(await paused(new Map([['t', '*' as const]])), ['u/0'])
  assert.deepEqual(await paused('*'), [])
  assert.deepEqual(await paused(new Map()), ['t/0', 't/1', 'u/0'])
})

test('a flow that cannot go on is named and leaves the other running; all ended, that is what is thrown', async () => {
  const { clock, stop, flow, broke, end, names } = started(['f', 'g'])
  await clock.settle()
  const bug = new TypeError('a bug')
  flow('f').unit('t/0').fail(bug)
  await clock.settle()
  assert.deepEqual(broke, [['f', bug]])
  assert.deepEqual(flow('f').said().slice(-1), ['close'])
  assert.deepEqual([...flow('g').running.keys()], ['t/0'])
  assert.deepEqual([names(), end.error], [['f', 'g'], null])
  stop.abort()
  await clock.settle()
  assert.equal(end.error, bug)
})

test('a flow that could not go on begins anew when it is declared again', async () => {
  const { clock, apply, planOf, flow } = started(['f', 'g'])
  await clock.settle()
  flow('f').unit('t/0').fail(new TypeError('a bug'))
  await clock.settle()
  flow('f').said()
  apply(planOf('f'), planOf('g'))
  await clock.settle()
  assert.deepEqual(flow('f').said(), ['open', '+t/0'])
})

test('COORDINATION 7: while an action names a unit it does not begin, whatever changes meanwhile, and the others run', async () => {
  const open = Promise.withResolvers<never[]>()
  const { clock, flow, apply, planOf } = started(['f'], {
    prepare: fake => {
      fake.steer = view => (view.units.includes('t/1') ? [] : [{ do: 'starts', units: ['t/1'] }])
      fake.perform = () => open.promise
    },
  })
  await clock.settle()
  flow('f').shown.units.push('t/1')
  apply(planOf('f', 2))
  await clock.advance(60_000)
  assert.deepEqual(flow('f').said(), ['open', '+t/0'])
  open.resolve([])
  await clock.settle()
  assert.deepEqual(flow('f').said(), ['+t/1'])
})

test('until the end: it is over when nothing is pending and all its units have ended or failed, flow by flow', async () => {
  const { clock, flow, end } = started(['f', 'g'], {
    untilEnd: true,
    prepare: fake => {
      fake.shown.units.push('t/1')
      fake.shown.pending = 1
    },
  })
  await clock.settle()
  for (const name of ['f', 'g']) {
    flow(name).unit('t/0').end()
    flow(name).unit('t/1').fail(transient())
  }
  await clock.advance(30_000)
  assert.equal(end.done, null)
  flow('f').shown.pending = 0
  await clock.advance(10_000)
  assert.deepEqual(flow('f').said().slice(-1), ['close'])
  assert.equal(end.done, null)
  flow('g').shown.pending = 0
  await clock.advance(10_000)
  assert.deepEqual(end.done, { whole: true })
})

test('when all flows have left it waits for others, until the stop', async () => {
  const { clock, stop, apply, planOf, flow, names, end } = started(['f'])
  await clock.settle()
  apply()
  await clock.settle()
  assert.deepEqual([names(), end.done], [[], null])
  apply(planOf('g'))
  await clock.settle()
  assert.deepEqual([...flow('g').running.keys()], ['t/0'])
  apply()
  await clock.settle()
  stop.abort()
  await clock.settle()
  assert.deepEqual(end.done, { whole: true })
})

test('the stop waits for a flow that has left and has not let go yet', async () => {
  const { clock, stop, apply, planOf, flow, end } = started(['f', 'g'])
  await clock.settle()
  flow('f').leaves = false
  apply(planOf('g'))
  stop.abort()
  await clock.settle()
  assert.equal(end.done, null)
  flow('f').unit('t/0').end()
  await clock.settle()
  assert.deepEqual(end.done, { whole: true })
})
