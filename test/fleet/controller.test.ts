import assert from 'node:assert/strict'
import { test } from 'node:test'
import { paths } from '../../engine/fleet/decide/documents/paths.ts'
import { stateExports } from '../../engine/fleet/exports.ts'
import { noOverlay } from '../../engine/flow/overlay.ts'
import { fakeStore } from '../fakes/store.ts'
import { fleetOf } from './controllerOf.ts'
import { transient } from './fakeKind.ts'

const topic = (count: number) => Array.from({ length: count }, (_, n) => `t/${n}`)

/** A leader, these workers, and a flow of so many units; all of them held. */
async function begun(ids: readonly string[], count: number) {
  const fleet = fleetOf()
  fleet.declare('f')
  const leader = fleet.controller('c1')
  leader.fake.shown.units = topic(count)
  const workers = new Map(ids.map(id => [id, fleet.worker(id)]))
  await fleet.clock.until(() => ids.reduce((sum, id) => sum + runs(id), 0) === count, 60_000)
  function runs(id: string): number {
    return workers.get(id)?.runs().length ?? 0
  }
  return { fleet, leader, workers, runs, worker: (id: string) => workers.get(id) as ReturnType<typeof fleet.worker> }
}

test('a flow of the file is written, planned, given and run; then nothing more is written', async () => {
  const { fleet, leader, runs } = await begun(['a', 'b'], 6)
  assert.equal(fleet.owners('a', 'b'), 'a = f/t/0,2,4, b = f/t/1,3,5')
  assert.deepEqual([runs('a'), runs('b')], [3, 3])
  assert.equal(fleet.flowDoc('f').origin, 'config')
  await fleet.clock.advance(3_000)
  const tags = ['a', 'b'].map(id => fleet.coordination.tree.read(paths.assignment(id))?.tag)
  await fleet.clock.advance(60_000)
  assert.deepEqual(
    ['a', 'b'].map(id => fleet.coordination.tree.read(paths.assignment(id))?.tag),
    tags,
  )
  const flow = leader.controller.known()?.flows().get('f')
  assert.deepEqual([flow?.wanted, flow?.assigned, flow?.held, flow?.inTransit], [6, 6, 6, 0])
  assert.deepEqual([...(leader.controller.known()?.workers().keys() ?? [])], ['a', 'b'])
})

test('a worker that joins gets its share, and each unit pauses for less than half a second', async () => {
  const { fleet, runs, workers, worker } = await begun(['a', 'b'], 12)
  workers.set('c', fleet.worker('c'))
  const pauses: number[] = []
  let since: number | null = null
  await fleet.clock.until(() => {
    const all = runs('a') + runs('b') + runs('c')
    if (all < 12) since ??= fleet.clock.nowMs()
    else if (since !== null) {
      pauses.push(fleet.clock.nowMs() - since)
      since = null
    }
    assert.ok(all <= 12)
    return runs('c') === 4
  }, 60_000)
  assert.deepEqual([runs('a'), runs('b'), worker('c').runs().length], [4, 4, 4])
  assert.ok(pauses.length > 0)
  for (const ms of pauses) assert.ok(ms <= 500, `${ms} ms`)
})

test('a killed worker is taken over when its lease is over, and not before', async () => {
  const { fleet, leader, runs, worker } = await begun(['a', 'b'], 4)
  await fleet.clock.advance(5_000)
  const beat = fleet.coordination.tree.read(paths.worker('b'))?.version
  await fleet.clock.until(() => fleet.coordination.tree.read(paths.worker('b'))?.version !== beat)
  fleet.coordination.suspend(worker('b').session(), Number.POSITIVE_INFINITY)
  const killedMs = fleet.clock.nowMs()
  await fleet.clock.until(() => runs('a') === 4, 60_000)
  const afterMs = fleet.clock.nowMs() - killedMs
  assert.ok(afterMs >= 7_500 && afterMs <= 9_000, `${afterMs} ms`)
  assert.equal(fleet.held('b').state, 'left')
  assert.ok(leader.events.some(([, event]) => event.code === 'worker-ejected'))
  assert.equal(leader.controller.state().counts.ejections, 1)
})

test('SIGTERM of a worker hands its units over at once, and nobody waits for a lease', async () => {
  const { fleet, runs, worker } = await begun(['a', 'b'], 4)
  worker('b').stop.abort()
  const stoppedMs = fleet.clock.nowMs()
  await fleet.clock.until(() => runs('a') === 4, 60_000)
  assert.ok(fleet.clock.nowMs() - stoppedMs <= 1_000, `${fleet.clock.nowMs() - stoppedMs} ms`)
  await fleet.clock.until(() => worker('b').end.result !== null, 10_000)
})

test('a leader that dies is followed by the next; nothing moves and no unit pauses', async () => {
  const { fleet, leader, runs } = await begun(['a', 'b'], 4)
  const next = fleet.controller('c2')
  next.fake.shown.units = topic(4)
  await fleet.clock.advance(3_000)
  const before = fleet.owners('a', 'b')
  fleet.coordination.suspend(leader.session(), Number.POSITIVE_INFINITY)
  const diedMs = fleet.clock.nowMs()
  await fleet.clock.until(next.leads, 60_000)
  assert.ok(fleet.clock.nowMs() - diedMs <= 9_000, `${fleet.clock.nowMs() - diedMs} ms`)
  assert.equal(fleet.epoch(), 2)
  await fleet.clock.advance(60_000)
  assert.equal(fleet.owners('a', 'b'), before)
  assert.deepEqual([runs('a'), runs('b')], [2, 2])
  next.stop.abort()
  await fleet.clock.until(() => next.end.done, 10_000)
})

test('COORDINATION 5: a leader paused between its plan and its write is deposed, and changes nothing', async () => {
  const { fleet, leader, worker } = await begun(['a', 'b'], 4)
  const next = fleet.controller('c2')
  next.fake.shown.units = topic(4)
  await fleet.clock.advance(1_000)
  // Its session stands in the middle of a round; another is in office when it goes on.
  fleet.coordination.mute(leader.session(), 30_000)
  worker('b').stop.abort()
  await fleet.clock.until(next.leads, 60_000)
  await fleet.clock.until(() => worker('a').runs().length === 4, 60_000)
  await fleet.clock.advance(60_000)
  assert.equal(leader.leads(), false)
  assert.equal(fleet.owners('a', 'b'), 'a = f/t/0-3, b = -')
})

test('a write that was done without an answer is read again, and nothing is given twice', async () => {
  const { fleet, runs, workers, leader } = await begun(['a', 'b'], 6)
  fleet.coordination.loseNextAnswer(asked => asked.do === 'write' && asked.paths.includes(paths.assignment('a')))
  workers.set('c', fleet.worker('c'))
  await fleet.clock.until(() => runs('c') === 2, 60_000)
  await fleet.clock.advance(5_000)
  assert.deepEqual(fleet.twice(['a', 'b', 'c']), [])
  assert.equal(runs('a') + runs('b') + runs('c'), 6)
  assert.ok((leader.controller.state().loop?.unknown ?? 0) > 0)
})

test('a paused flow has no owners, and the same ones when it is resumed', async () => {
  const { fleet, runs } = await begun(['a', 'b'], 4)
  const before = fleet.owners('a', 'b')
  const { rest, spec } = fleet.flowDoc('f')
  assert.ok(rest.has('file'))
  fleet.flow('f', { spec, paused: '*' })
  await fleet.clock.until(() => runs('a') + runs('b') === 0, 10_000)
  await fleet.clock.advance(1_000)
  assert.equal(fleet.owners('a', 'b'), 'a = -, b = -')
  fleet.flow('f', { spec })
  await fleet.clock.until(() => runs('a') + runs('b') === 4, 10_000)
  assert.equal(fleet.owners('a', 'b'), before)
})

test('a drained worker is emptied; taken back, it keeps what it has; auto off stops balance only', async () => {
  const { fleet, runs, leader, workers } = await begun(['a', 'b', 'c'], 6)
  fleet.wish(() => ({ drains: new Map([['a', { atMs: 0, by: 'me', reason: 'api' }]]) }))
  await fleet.clock.until(() => runs('a') === 0 && runs('b') + runs('c') === 6, 30_000)
  await fleet.clock.until(() => leader.controller.known()?.workers().get('a')?.released === true, 10_000)
  fleet.wish(() => ({ drains: new Map(), auto: false }))
  await fleet.clock.advance(30_000)
  assert.equal(runs('a'), 0)
  workers.set('d', fleet.worker('d'))
  await fleet.clock.advance(30_000)
  assert.equal(runs('d'), 0)
  fleet.wish(({ rebalance }) => ({ rebalance: rebalance + 1 }))
  await fleet.clock.until(() => runs('d') > 0 && runs('a') > 0, 60_000)
  await fleet.clock.until(() => fleet.wishes().rebalance === 0, 10_000)
})

test('COORDINATION 7: the units of an action are not given before it has ended', async () => {
  const fleet = fleetOf()
  fleet.declare('f')
  const leader = fleet.controller('c1')
  const open = Promise.withResolvers<void>()
  let done = false
  leader.fake.shown.units = ['t/1']
  leader.fake.steer = () => (done ? [] : [{ do: 'start', units: ['t/0'] }])
  leader.fake.perform = async () => {
    leader.fake.shown.units = ['t/0', 't/1']
    await open.promise
    done = true
    return []
  }
  const worker = fleet.worker('a')
  await fleet.clock.until(() => worker.runs().length === 1, 30_000)
  await fleet.clock.advance(30_000)
  assert.deepEqual(worker.runs(), ['t/1'])
  open.resolve()
  await fleet.clock.until(() => worker.runs().length === 2, 30_000)
})

test('COORDINATION 7: a unit that ended by itself is given again only when a look since then still yields it', async () => {
  const { fleet, leader, worker } = await begun(['a'], 2)
  leader.fake.shown.units = ['t/1']
  const { looks } = leader.fake
  worker('a').fake.unit('t/0').end()
  await fleet.clock.until(() => fleet.owners('a') === 'a = f/t/1', 5_000)
  await fleet.clock.advance(1_000)
  assert.ok(leader.fake.looks > looks)
  assert.deepEqual(worker('a').runs(), ['t/1'])
})

test('a flow that is asked to go loses its units, does what is left to do, and then its document', async () => {
  const { fleet, leader, runs } = await begun(['a'], 2)
  const left = ['mark it ended']
  leader.fake.steer = view => {
    if (!view.deleting || view.owned.size > 0) return []
    return [...left, 'end'].map(what => ({ do: what }))
  }
  leader.fake.perform = async () => {
    assert.equal(runs('a'), 0)
    left.length = 0
    return []
  }
  fleet.declared.clear()
  const doc = fleet.flowDoc('f')
  fleet.put(
    paths.flow('f'),
    JSON.stringify({ ...JSON.parse(fleet.text(paths.flow('f')) ?? ''), origin: 'api', deleting: true }),
  )
  assert.equal(doc.deleting, false)
  await fleet.clock.until(() => fleet.text(paths.flow('f')) === null, 30_000)
  assert.deepEqual([left, runs('a'), fleet.owners('a')], [[], 0, 'a = -'])
})

test('a document that cannot be read moves nothing, and is told', async () => {
  const { fleet, leader, runs } = await begun(['a', 'b'], 4)
  const good = fleet.text(paths.flow('f')) ?? ''
  fleet.put(paths.flow('f'), '{')
  await fleet.clock.advance(15_000)
  assert.equal(runs('a') + runs('b'), 4)
  assert.equal(leader.controller.known()?.flows().get('f')?.fault?.code, 'state-corrupt')
  fleet.put(paths.flow('f'), good)
  await fleet.clock.advance(1_000)
  assert.equal(leader.controller.known()?.flows().get('f')?.fault, null)
  fleet.put(paths.assignment('a'), 'x')
  await fleet.clock.advance(15_000)
  assert.equal(fleet.owners('a', 'b'), 'a = f/t/0,2, b = f/t/1,3')
  assert.equal(runs('a') + runs('b'), 4)
})

test('a flow that has left the file is paused, and goes on when it is back; an edit changes its spec', async () => {
  const { fleet, leader, runs } = await begun(['a'], 2)
  fleet.declared.clear()
  leader.edited()
  await fleet.clock.until(() => runs('a') === 0, 10_000)
  assert.equal(fleet.flowDoc('f').overlay.paused, '*')
  assert.ok(leader.events.some(([flow, event]) => flow === 'f' && event.code === 'left-file'))
  fleet.declare('f', { from: 'east' })
  leader.edited()
  await fleet.clock.until(() => runs('a') === 2, 10_000)
  assert.deepEqual(fleet.flowDoc('f').spec, { from: 'east' })
  leader.fake.refuses = true
  fleet.declare('f', { from: 'west' })
  leader.edited()
  await fleet.clock.advance(1_000)
  assert.deepEqual(fleet.flowDoc('f').spec, { from: 'east' })
  assert.ok(leader.events.some(([flow, event]) => flow === 'f' && event.message.includes('not now')))
})

test('a worker that knows a higher epoch makes the leader take office anew', async () => {
  const { fleet, leader, runs } = await begun(['a'], 2)
  const held = fleet.text(paths.held('a')) ?? ''
  fleet.put(paths.held('gone'), held.replace('"epoch":1', '"epoch":9').replace('"running"', '"left"'))
  await fleet.clock.until(() => fleet.epoch() === 10 && leader.leads(), 60_000)
  await fleet.clock.advance(5_000)
  assert.equal(runs('a'), 2)
})

test('what people wish is exported after each change; what was there before a wiped tree is put aside first', async () => {
  const fleet = fleetOf()
  fleet.declare('f')
  const store = fakeStore(fleet.clock)
  const exports = () => stateExports(store, { clock: fleet.clock, keepsVersions: true })
  const old = { epoch: 6, flows: new Map(), logging: null, wishes: null }
  await exports().write(old)
  const leader = fleet.controller('c1', { exports: exports(), store: { epoch: async () => 6 } })
  leader.fake.shown.units = topic(2)
  await fleet.clock.until(leader.leads)
  await fleet.clock.advance(2_000)
  assert.equal(fleet.epoch(), 7)
  const aside = await store.get('fleet/state-6.json')
  assert.ok(aside?.body.toString().includes('"epoch":6'))
  fleet.wish(() => ({ auto: false }))
  await fleet.clock.advance(60_000)
  const now = await exports().read()
  assert.deepEqual([now?.epoch, [...(now?.flows.keys() ?? [])]], [7, ['f']])
  assert.ok(JSON.stringify(now?.wishes).includes('"auto":false'))
})

test('a skip that the checkpoint has passed is taken out of the document', async () => {
  const fleet = fleetOf()
  fleet.declare('f', {}, { ...noOverlay, skips: new Map([['t/0', { offset: 9n, records: 1 }]]) })
  const leader = fleet.controller('c1')
  leader.fake.shown.units = topic(1)
  let checkpoint = 9n
  leader.fake.kind.checkpoint = () => checkpoint
  await fleet.clock.until(leader.leads)
  await fleet.clock.advance(15_000)
  assert.equal(fleet.flowDoc('f').overlay.skips.size, 1)
  checkpoint = 10n
  await fleet.clock.until(() => fleet.flowDoc('f').overlay.skips.size === 0, 20_000)
})

test('COORDINATION 6: a session that expires while the network is fine: the same units are back, and none changes places', async () => {
  const { fleet, runs, worker } = await begun(['a', 'b', 'c'], 60)
  await fleet.clock.advance(35_000)
  const before = fleet.owners('a', 'b', 'c')
  fleet.coordination.expire(worker('b').session())
  const expiredMs = fleet.clock.nowMs()
  await fleet.clock.until(() => runs('b') < 20, 10_000)
  await fleet.clock.until(() => runs('b') === 20, 10_000)
  assert.ok(fleet.clock.nowMs() - expiredMs <= 5_000, `${fleet.clock.nowMs() - expiredMs} ms`)
  assert.equal(fleet.owners('a', 'b', 'c'), before)
  await fleet.clock.advance(30_000)
  assert.equal(fleet.owners('a', 'b', 'c'), before)
})

test('the coordinator away for a minute: units pause, and the same ones go on; nobody is ejected', async () => {
  const { fleet, leader, runs } = await begun(['a', 'b', 'c'], 60)
  await fleet.clock.advance(35_000)
  const before = fleet.owners('a', 'b', 'c')
  fleet.coordination.outage(60_000)
  await fleet.clock.advance(20_000)
  assert.equal(runs('a') + runs('b') + runs('c'), 0)
  await fleet.clock.advance(40_000)
  await fleet.clock.until(() => runs('a') + runs('b') + runs('c') === 60, 30_000)
  await fleet.clock.advance(60_000)
  assert.equal(fleet.owners('a', 'b', 'c'), before)
  assert.equal(leader.controller.state().counts.ejections, 0)
})

test('a cluster that cannot be looked at, and a kind that throws, are shown with their next try; what runs goes on', async () => {
  const { fleet, leader, runs } = await begun(['a'], 2)
  const seen = () => leader.controller.known()?.flows().get('f')
  const { look } = leader.fake
  leader.fake.look = async () => {
    throw transient('no broker answers')
  }
  await fleet.clock.advance(11_000)
  assert.equal(seen()?.fault?.code, 'kafka-unreachable')
  assert.ok((seen()?.nextTryMs ?? 0) > 0)
  leader.fake.look = look
  await fleet.clock.advance(20_000)
  assert.equal(seen()?.fault, null)
  leader.fake.steer = () => {
    throw new Error('a bug')
  }
  await fleet.clock.advance(2_000)
  assert.equal(seen()?.fault?.code, 'steer-failed')
  assert.equal(runs('a'), 2)
})
