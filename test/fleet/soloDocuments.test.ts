import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noFlowOverlay } from '../../engine/fleet/decide/documents/flow.ts'
import { paths } from '../../engine/fleet/decide/documents/paths.ts'
import { noOverlay } from '../../engine/flow/overlay.ts'
import { manualClock } from '../fakes/clock.ts'
import { fakeStore } from '../fakes/store.ts'
import { lasting, transient } from './fakeKind.ts'
import { declaredFlow, soloProcess } from './soloProcess.ts'

const allPaused = { ...noFlowOverlay, paused: '*' as const }
const paused = (topic: string, ...partitions: number[]) => ({
  ...noFlowOverlay,
  paused: new Map([[topic, partitions]]),
})

test('the flows of the file are documents, and they run; without a store the epoch is 1', async () => {
  const one = await soloProcess()
  assert.deepEqual((await one.declare({ f: declaredFlow(), g: declaredFlow() })).refused, [])
  assert.equal(one.runs(), 'f t/0, f t/1, g t/0, g t/1')
  const { kind, origin, changedBy } = (await one.doc('f')) ?? {}
  assert.deepEqual([kind, origin, changedBy?.by, one.state.epoch], ['fake', 'config', 'config', 1])
})

test('what people pause stops at once, outlives an edit of the file, and what they resume runs again', async () => {
  const one = await soloProcess()
  await one.declare({ f: declaredFlow() })
  await one.change('f', { overlay: paused('t', 1) })
  assert.equal(one.runs(), 'f t/0')
  await one.declare({ f: declaredFlow({ a: 1 }) })
  assert.equal(one.runs(), 'f t/0')
  assert.deepEqual((await one.doc('f'))?.spec, { a: 1 })
  await one.change('f', { overlay: noFlowOverlay })
  assert.equal(one.runs(), 'f t/0, f t/1')
})

test('what the file itself says of pauses counts when it says something new', async () => {
  const one = await soloProcess()
  await one.declare({ f: declaredFlow({}, { ...noOverlay, paused: '*' }) })
  assert.equal(one.runs(), '')
  await one.change('f', { overlay: noFlowOverlay })
  await one.declare({ f: declaredFlow({ a: 1 }, { ...noOverlay, paused: '*' }) })
  assert.equal(one.runs(), 'f t/0, f t/1')
  await one.declare({ f: declaredFlow({}, { ...noOverlay, paused: new Map([['t', new Set([0])]]) }) })
  assert.equal(one.runs(), 'f t/1')
})

test('a flow that has left the file stops and is kept, and comes back as it was', async () => {
  const one = await soloProcess()
  await one.declare({ f: declaredFlow(), g: declaredFlow() })
  await one.change('f', { overlay: paused('t', 0) })
  await one.declare({ g: declaredFlow() })
  assert.equal(one.runs(), 'g t/0, g t/1')
  const { overlay, changedBy } = (await one.doc('f')) ?? {}
  assert.deepEqual([overlay?.paused, changedBy?.by], ['*', 'config'])
  assert.deepEqual(
    [...(await one.begun).solo.flows()].map(({ flow }) => flow),
    ['g'],
  )
  await one.declare({ f: declaredFlow(), g: declaredFlow() })
  assert.equal(one.runs(), 'f t/1, g t/0, g t/1')
})

test('one that has left the file and that somebody resumes runs on', async () => {
  const one = await soloProcess()
  await one.declare({ f: declaredFlow() })
  await one.declare({})
  await one.change('f', { overlay: noFlowOverlay })
  assert.equal(one.runs(), 'f t/0, f t/1')
  await one.clock.advance(30_000)
  assert.equal(one.runs(), 'f t/0, f t/1')
})

test('flows that people make run beside those of the file, and after a start from the store, in a higher epoch', async () => {
  const clock = manualClock()
  const store = fakeStore(clock)
  const first = await soloProcess({ store, clock })
  await first.declare({ f: declaredFlow() })
  await first.change('mine', {})
  await first.change('f', { overlay: paused('t', 0) })
  assert.equal(first.runs(), 'f t/1, mine t/0, mine t/1')
  await first.killed()

  const next = await soloProcess({ store, clock })
  assert.equal(next.state.epoch, 2)
  await next.declare({ f: declaredFlow() })
  assert.equal(next.runs(), 'f t/1, mine t/0, mine t/1')
})

test('an edit of the file is one write of the store, and with the store full nothing of it is there', async () => {
  const clock = manualClock()
  const store = fakeStore(clock)
  const one = await soloProcess({ store, clock })
  const states = () => store.puts.filter(key => key === 'fleet/state.json').length
  await one.declare({ f: declaredFlow() })
  const before = states()
  await one.declare({ f: declaredFlow({ a: 1 }), g: declaredFlow(), h: declaredFlow() })
  assert.equal(states(), before + 1)

  store.failAll('store-full')
  const { refused, end } = await one.declare({ f: declaredFlow({ a: 2 }), i: declaredFlow() })
  assert.deepEqual([refused, end.written], [[], false])
  assert.deepEqual([(await one.doc('f'))?.spec, await one.doc('i')], [{ a: 1 }, null])
  assert.equal(one.runs(), 'f t/0, f t/1, g t/0, g t/1, h t/0, h t/1')
  await clock.advance(30_000)
  assert.deepEqual(one.codes(), ['- store-full'])
  await clock.advance(60_000)
  assert.deepEqual(one.codes(), ['- store-full', '- store-full'])

  store.failAll(null)
  await clock.advance(61_000)
  assert.equal(end.written, true)
  assert.equal(one.runs(), 'f t/0, f t/1, i t/0, i t/1')
})

test('before its store answers nothing runs; then it begins by itself', async () => {
  const clock = manualClock()
  const store = fakeStore(clock)
  store.failAll('store-away')
  const one = await soloProcess({ store, clock })
  await clock.advance(5_000)
  assert.deepEqual([one.state.epoch, one.state.trouble?.code], [null, 'store-away'])
  store.failAll(null)
  await clock.advance(61_000)
  assert.deepEqual([one.state.epoch, one.state.trouble], [1, null])
  await one.declare({ f: declaredFlow() })
  assert.equal(one.runs(), 'f t/0, f t/1')
})

test('a store that cannot be read ends it: what people wished would be written over', async () => {
  const clock = manualClock()
  const store = fakeStore(clock)
  store.objects.set('fleet/state.json', Buffer.from('{"epoch":'))
  const one = await soloProcess({ store, clock })
  await assert.rejects(one.begun, { code: 'state-corrupt' })
})

test('an edit that one flow does not take changes nothing at all', async () => {
  const one = await soloProcess()
  await one.declare({ f: declaredFlow(), g: declaredFlow() })
  one.fake.refuses = true
  const { refused } = await one.declare({ f: declaredFlow({ a: 1 }), h: declaredFlow() })
  assert.deepEqual(refused, ['f: not now'])
  assert.deepEqual([(await one.doc('f'))?.spec, await one.doc('h')], [{}, null])
  assert.equal(one.runs(), 'f t/0, f t/1, g t/0, g t/1')
})

test('an edit that writes where a flow that people made does is refused; at the start that is told, and both run', async () => {
  const clock = manualClock()
  const store = fakeStore(clock)
  const one = await soloProcess({ store, clock })
  await one.declare({ f: declaredFlow() })
  await one.change('mine', { spec: { writes: 't' } })
  const { refused } = await one.declare({ f: declaredFlow({ writes: 't' }) })
  assert.match(refused.join(), /^f: topics: t is written to the same place by flow mine/)
  assert.deepEqual((await one.doc('f'))?.spec, {})
  await one.killed()
  const next = await soloProcess({ store, clock })
  assert.deepEqual((await next.declare({ f: declaredFlow({ writes: 't' }) })).refused, [])
  assert.deepEqual(next.codes(), ['f config-invalid'])
  assert.equal(next.runs(), 'f t/0, f t/1, mine t/0, mine t/1')
})

test('a change that a running flow does not take and that is written all the same is told, and it runs on', async () => {
  const one = await soloProcess()
  await one.change('f', {})
  one.fake.refuses = true
  await one.change('f', { spec: { a: 1 } })
  await one.clock.advance(30_000)
  assert.equal(one.runs(), 'f t/0, f t/1')
  assert.deepEqual(one.codes(), ['f config-invalid'])
})

test('a document that cannot be read leaves its flow as it is, and the others too', async () => {
  const one = await soloProcess()
  await one.declare({ f: declaredFlow() })
  await one.change('mine', {})
  await one.coordinator.write([{ do: 'set', path: paths.flow('mine'), data: '{', version: null }])
  await one.clock.settle()
  assert.equal(one.runs(), 'f t/0, f t/1, mine t/0, mine t/1')
  assert.deepEqual(one.codes(), ['mine state-corrupt'])
  const { known } = await one.begun
  assert.equal(known.flows().get('mine')?.fault?.code, 'state-corrupt')
})

test('a name that the file and people both have stays with them, and that is told once', async () => {
  const one = await soloProcess()
  await one.change('f', { spec: { a: 1 } })
  await one.declare({ f: declaredFlow({ b: 1 }) })
  await one.clock.advance(30_000)
  assert.deepEqual([(await one.doc('f'))?.spec, one.codes()], [{ a: 1 }, ['f conflict']])
})

test('a flow that is asked to go stops, does what is left to be done, and then it is gone', async () => {
  const one = await soloProcess()
  const done: string[] = []
  one.fake.steer = view => (view.deleting && done.length === 0 ? [{ do: 'put in order' }] : [])
  one.fake.perform = async action => {
    done.push(action.do)
    return []
  }
  await one.declare({ f: declaredFlow() })
  await one.change('mine', {})
  one.side('mine').leaves = false
  await one.change('mine', { deleting: true })
  assert.notEqual(await one.doc('mine'), null)
  for (const unit of ['t/0', 't/1']) one.side('mine').unit(unit).end()
  await one.clock.advance(11_000)
  assert.deepEqual([await one.doc('mine'), done], [null, ['put in order']])
  assert.deepEqual([...(await one.begun).documents.flows().keys()], ['f'])
})

test('a flow whose cluster is not there is told, the others run, and it can be taken away', async () => {
  const one = await soloProcess()
  await one.change('lost', { spec: { to: 'nowhere' } })
  await one.declare({ f: declaredFlow() })
  await one.change('f', { overlay: paused('t', 1) })
  assert.deepEqual([one.runs(), one.codes()], ['f t/0', ['lost broke', 'lost broke']])
  const { known } = await one.begun
  assert.equal(known.flows().get('lost')?.fault?.message, "there is no cluster 'nowhere'")
  await one.change('lost', { deleting: true })
  await one.clock.advance(11_000)
  assert.deepEqual([await one.doc('lost'), one.runs()], [null, 'f t/0'])
})

test('tags that this process does not have keep a flow from running, and the status says so', async () => {
  const one = await soloProcess({ tags: ['gpu'] })
  await one.declare({ f: declaredFlow({ requires: ['gpu'] }), g: declaredFlow({ requires: ['eu'] }) })
  assert.equal(one.runs(), 'f t/0, f t/1')
  const { known } = await one.begun
  assert.deepEqual(known.flows().get('g')?.unplaced, [{ unit: '*', why: 'no-tag' }])
})

test('a skip that the checkpoint has passed is taken out', async () => {
  const one = await soloProcess()
  one.kind.checkpoint = () => 9n
  const skips = new Map([
    [
      't',
      new Map([
        [0, [8, 1] as const],
        [1, [9, 1] as const],
      ]),
    ],
  ])
  await one.change('f', { overlay: { ...noFlowOverlay, skips } })
  await one.clock.advance(11_000)
  assert.deepEqual((await one.doc('f'))?.overlay.skips, new Map([['t', new Map([[1, [9, 1]]])]]))
})

test('what is known of its flows: how many units are wanted and run, who has them, and why not', async () => {
  const one = await soloProcess()
  await one.declare({ f: declaredFlow() })
  await one.change('f', { overlay: paused('t', 1) })
  const { known } = await one.begun
  const { wanted, assigned, held } = known.flows().get('f') ?? {}
  assert.deepEqual([wanted, assigned, held, [...known.running('f')]], [1, 1, 1, ['t/0']])
  assert.deepEqual([known.unit('f/t/0')?.owner, known.unit('f/t/0')?.why], ['me', null])
  assert.deepEqual([known.unit('f/t/1')?.owner, known.unit('f/t/1')?.why, known.unit('f/t/2')], [null, 'paused', null])
  assert.equal(known.stats('f').get('t/0')?.state, 'running')
  assert.deepEqual([...known.units('f').keys()], ['t/0', 't/1'])
  assert.deepEqual([...known.workers().keys()], ['me'])
  one.side('f').measured.set('t/0', { state: 'error', code: 'batch-corrupt', offset: 9n, sinceMs: 0 })
  const [error] = known.workers().get('me')?.errors ?? []
  assert.deepEqual([error?.unit, error?.code, error?.offset], ['f/t/0', 'batch-corrupt', '9'])
})

test('offsets are set of units that are free, and none of them begins meanwhile', async () => {
  const one = await soloProcess()
  const asked: string[][] = []
  const open = Promise.withResolvers<void>()
  one.kind.parts = () => ['t/0', 't/1']
  one.kind.setOffsets = async ({ units }) => {
    asked.push([...units])
    await open.promise
    return []
  }
  await one.declare({ f: declaredFlow() })
  const { known } = await one.begun
  const request = { parts: '*' as const, to: 'earliest' as const, dryRun: false }
  const signal = new AbortController().signal
  const refused = assert.rejects(known.setOffsets('f', request, signal), { code: 'conflict' })
  await one.clock.advance(60_000)
  await refused
  await assert.rejects(known.setOffsets('g', request, signal), { code: 'not-found' })
  await one.change('f', { overlay: allPaused })
  const set = known.setOffsets('f', request, signal)
  await one.change('f', { overlay: noFlowOverlay })
  await one.clock.advance(30_000)
  assert.deepEqual([one.runs(), asked], ['', [['t/0', 't/1']]])
  open.resolve()
  await set
  await one.clock.settle()
  assert.equal(one.runs(), 'f t/0, f t/1')
})

test('COORDINATION 7: of three actions one is refused for ever: the others are done, it alone is asked for at 1, 2, 4 s and at once after a resume', async () => {
  const one = await soloProcess()
  const done = new Set<string>()
  const tries: number[] = []
  one.fake.steer = () => ['first', 'refused', 'last'].filter(name => !done.has(name)).map(name => ({ do: name }))
  one.fake.perform = async action => {
    if (action.do === 'refused') {
      tries.push(one.clock.nowMs())
      throw transient('refused for ever')
    }
    done.add(action.do)
    return []
  }
  await one.declare({ f: declaredFlow() })
  await one.clock.advance(10_000)
  assert.deepEqual([...done], ['first', 'last'])
  const waits = tries.slice(1).map((atMs, n) => atMs - (tries[n] ?? 0))
  // Steered each second, so a try may be that much later than it is due.
  for (const [n, ms] of [1_000, 2_000, 4_000].entries())
    assert.ok((waits[n] ?? 0) >= ms && (waits[n] ?? 0) <= ms + 1_100, `${waits}`)
  const before = tries.length
  await one.change('f', {})
  assert.equal(tries.length, before + 1)
  // Any edit of the file hurries it too, and SIGHUP without one.
  await one.declare({ f: declaredFlow() })
  assert.equal(tries.length, before + 2)
  assert.equal(one.runs(), 'f t/0, f t/1')
})

test('COORDINATION 7: what nobody can mend by waiting is asked for by the slow curve, and the units run beside it', async () => {
  const one = await soloProcess()
  let tries = 0
  one.fake.steer = () => [{ do: 'refused' }]
  one.fake.perform = async () => {
    tries++
    throw lasting()
  }
  await one.declare({ f: declaredFlow() })
  await one.clock.advance(40_000)
  assert.deepEqual([tries, one.runs()], [1, 'f t/0, f t/1'])
  await one.change('f', {})
  assert.equal(tries, 2)
  const { known } = await one.begun
  assert.deepEqual(
    [...(known.flows().get('f')?.aside.values() ?? [])].map(({ code }) => code),
    ['kafka-not-authorized'],
  )
})
