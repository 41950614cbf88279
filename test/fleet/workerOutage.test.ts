import assert from 'node:assert/strict'
import { test } from 'node:test'
import { paths } from '../../engine/fleet/decide/documents/paths.ts'
import { workerOf } from './workerOf.ts'

const upTo = (n: number) => [...Array(n).keys()].map(unit => `f/t/${unit}`)

/** Registered, with these units of flow `f` running, right after a beat. */
async function running(count: number) {
  const one = workerOf()
  one.flow('f')
  await one.registered()
  one.assign(1, upTo(count))
  await one.clock.until(() => one.fake.running.size === count, 5_000)
  await beaten(one)
  one.fake.said()
  return one
}

async function beaten(one: ReturnType<typeof workerOf>): Promise<void> {
  const before = one.node()?.version ?? 0
  await one.clock.until(() => (one.node()?.version ?? 0) > before, 5_000)
}

test('an outage of 3 s is not noticed', async () => {
  const one = await running(3)
  one.coordination.outage(3_000)
  await one.clock.advance(20_000)
  assert.deepEqual([one.fake.said(), one.worker.state().fences, one.worker.state().registered], [[], 0, true])
  assert.equal(one.sessions.length, 1)
})

test('silence: units stop in order at 6 500 ms, and what is left is aborted and cut at 7 000 ms', async () => {
  const one = await running(3)
  one.fake.leaves = false
  const sinceMs = one.clock.nowMs()
  one.coordination.mute(one.session(), 60_000)
  const signals = () => [...one.fake.running.values()].map(({ ctx }) => [ctx.stop.aborted, ctx.abort.aborted].join())
  await one.clock.advance(6_499)
  assert.deepEqual([signals(), one.worker.state().lease], [['false,false', 'false,false', 'false,false'], 'open'])
  await one.clock.advance(1)
  assert.deepEqual([signals(), one.worker.state().lease], [['true,false', 'true,false', 'true,false'], 'closing'])
  one.fake.unit('t/0').end()
  await one.clock.advance(499)
  assert.deepEqual([signals(), one.cuts.count], [['true,false', 'true,false'], 0])
  await one.clock.advance(1)
  assert.equal(one.clock.nowMs() - sinceMs, 7_000)
  assert.deepEqual(
    [signals(), one.worker.state().lease, one.worker.state().fences],
    [['true,true', 'true,true'], 'fenced', 1],
  )
  // Everything of it is still ours: nobody was given anything.
  assert.equal(one.worker.state().held, 3)
})

test('an outage of 60 s: a fence, nothing is given up, and all runs again when it is over', async () => {
  const one = await running(3)
  const before = one.node()
  one.coordination.outage(60_000)
  await one.clock.advance(59_000)
  assert.deepEqual([one.runs(), one.worker.state().held, one.worker.state().lease], [[], 3, 'fenced'])
  await one.clock.until(() => one.fake.running.size === 3, 5_000)
  assert.deepEqual([one.sessions.length, one.node()?.owner], [1, before?.owner])
  await one.clock.advance(50)
  assert.deepEqual([one.held().state, one.held().names, one.held().generation], ['running', upTo(3), 1])
  // None has left: each goes on from its checkpoint.
  const said = one.fake.said()
  assert.deepEqual(
    said.filter(line => line.startsWith('left') || line === 'close' || line === 'open'),
    [],
  )
})

test('a fenced worker does not go on before it has read its assignment, and takes what is newer', async () => {
  const one = await running(3)
  one.coordination.outage(20_000)
  await one.clock.advance(15_000)
  one.assign(2, upTo(1))
  await one.clock.until(() => one.fake.running.size > 0, 10_000)
  await one.clock.advance(50)
  assert.deepEqual([one.runs(), one.held().names], [['t/0'], ['f/t/0']])
  assert.deepEqual(
    one.fake.said().filter(line => line.startsWith('+')),
    ['+t/0'],
  )
})

test('a fenced worker whose old run has not ended yet begins nothing of that flow', async () => {
  const one = await running(2)
  one.fake.leaves = false
  one.coordination.outage(8_000)
  await one.clock.advance(9_500)
  assert.equal(one.worker.state().lease, 'open')
  assert.equal(one.worker.state().fences, 1)
  one.fake.unit('t/0').end()
  await one.clock.advance(1_000)
  assert.deepEqual(one.runs(), ['t/1'])
  one.fake.unit('t/1').end()
  await one.clock.advance(10)
  assert.deepEqual(one.runs(), ['t/0', 't/1'])
})

test('COORDINATION 6: a session that expired is lost: units stop in order, and the same id is back within a second', async () => {
  const one = await running(20)
  const before = one.node()
  one.coordination.expire(one.session())
  await one.clock.until(() => one.sessions.length === 2 && one.worker.state().registered, 1_000)
  assert.notEqual(one.node()?.owner, before?.owner)
  // Told to stop, not aborted; then everything of the registration before is given up.
  const said = one.fake.said()
  assert.deepEqual([said.filter(line => line.startsWith('left')).length, said.at(-1)], [20, 'close'])
  await one.clock.advance(100)
  assert.deepEqual([one.held().names, one.held().epoch, one.held().generation], [[], 1, 1])
  // The old document may be the one that a takeover is just emptying: it is not applied.
  await one.clock.advance(10_000)
  assert.deepEqual([one.runs(), one.held().names], [[], []])
  one.assign(2, [])
  await one.clock.advance(50)
  one.assign(3, upTo(20))
  await one.clock.advance(50)
  assert.deepEqual([one.runs().length, one.held().generation], [20, 3])
})

test('lost with units that do not stop: they have until the fence, then they are aborted and not waited for', async () => {
  const one = await running(2)
  one.fake.leaves = false
  const sinceMs = one.clock.nowMs()
  one.coordination.tree.write([{ do: 'remove', path: paths.worker('w'), version: null }], 'leader')
  await one.clock.advance(2_100)
  const { ctx } = one.fake.unit('t/0')
  assert.deepEqual([ctx.stop.aborted, ctx.abort.aborted], [true, false])
  await one.clock.until(() => ctx.abort.aborted, 10_000)
  assert.equal(one.clock.nowMs() - sinceMs, 7_000)
  await one.clock.until(() => one.worker.state().registered, 3_000)
  assert.deepEqual(one.held().names, [])
})

test('a machine that was suspended for 8 s drops everything at its first beat, and goes on from its checkpoints', async () => {
  const one = await running(2)
  one.machine.suspendedMs += 8_000
  await one.clock.advance(2_500)
  assert.equal(one.worker.state().fences, 1)
  assert.deepEqual(one.runs(), ['t/0', 't/1'])
  const said = one.fake.said()
  assert.deepEqual(said.sort(), ['+t/0', '+t/1', '-t/0', '-t/1'])
})

test('at SIGTERM every unit leaves as it ends, the last report says so, and the session is closed', async () => {
  const one = await running(3)
  one.fake.leaves = false
  one.stop.abort()
  await one.clock.advance(50)
  assert.deepEqual([one.node()?.state, one.held().state, one.held().names], ['stopping', 'stopping', upTo(3)])
  one.fake.unit('t/1').end()
  await one.clock.advance(50)
  assert.deepEqual(one.held().names, ['f/t/0', 'f/t/2'])
  // What is given now is not begun.
  one.assign(2, [...upTo(3), 'f/t/7'])
  await one.clock.advance(50)
  assert.deepEqual(
    [one.runs(), one.held().names],
    [
      ['t/0', 't/2'],
      ['f/t/0', 'f/t/2'],
    ],
  )
  one.fake.unit('t/0').end()
  one.fake.unit('t/2').end()
  await one.clock.until(() => one.end.result !== null, 1_000)
  assert.deepEqual(
    [one.end.result, one.held().state, one.held().names, one.node()],
    [{ whole: true }, 'left', [], null],
  )
  assert.equal(one.fake.said().at(-1), 'close')
})

test('a worker that is stopped while nothing can be reached does not wait for it', async () => {
  const one = await running(2)
  one.coordination.outage(600_000)
  await one.clock.advance(1_000)
  one.stop.abort()
  const sinceMs = one.clock.nowMs()
  await one.clock.until(() => one.end.result !== null, 10_000)
  assert.ok(one.clock.nowMs() - sinceMs <= 4_500)
  assert.deepEqual(one.end.result, { whole: true })
})

test('one that is told to wait no longer is not whole', async () => {
  const one = await running(2)
  one.fake.leaves = false
  one.stop.abort()
  await one.clock.advance(25_000)
  one.abort.abort()
  assert.equal(one.fake.unit('t/0').ctx.abort.aborted, true)
  for (const unit of [...one.fake.running.values()]) unit.end()
  await one.clock.until(() => one.end.result !== null, 5_000)
  assert.deepEqual([one.end.result, one.held().state], [{ whole: false }, 'left'])
})

test('a worker that is started while nothing answers waits, says why, and registers when it can', async () => {
  const one = workerOf()
  one.flow('f')
  one.coordination.outage(30_000)
  await one.clock.advance(29_000)
  assert.deepEqual([one.worker.state().registered, one.end.error], [false, null])
  await one.registered()
  one.assign(1, upTo(1))
  await one.clock.advance(50)
  assert.deepEqual(one.runs(), ['t/0'])
  // One that has not begun to register leaves at once.
  const two = workerOf()
  two.coordination.outage(600_000)
  await two.clock.advance(5_000)
  two.stop.abort()
  await two.clock.until(() => two.end.result !== null, 3_000)
})

test('an id that somebody else has is the end, at the first registration and later', async () => {
  const one = workerOf()
  one.coordination.tree.write(
    [{ do: 'create', path: paths.worker('w'), data: '{"address":"10.0.0.9:1"}', mode: 'ephemeral' }],
    'somebody',
  )
  await one.clock.until(() => one.end.error !== null, 5_000)
  assert.equal(one.end.error?.code, 'id-taken')
  assert.match(String(one.end.error), /10\.0\.0\.9/)
  const two = await running(2)
  // Its report is written by somebody else while its own document stands.
  two.put(paths.held('w'), two.coordination.tree.read(paths.held('w'))?.data ?? '')
  two.assign(2, upTo(1))
  await two.clock.until(() => two.end.error !== null, 5_000)
  assert.equal(two.end.error?.code, 'id-taken')
  assert.deepEqual(two.runs(), [])
})

test('a report whose answer is lost is read back and written again; so is a registration', async () => {
  const one = workerOf()
  one.flow('f')
  one.coordination.loseNextAnswer(asked => asked.do === 'write' && asked.paths.includes(paths.worker('w')))
  await one.registered()
  await one.clock.until(() => one.worker.state().lease === 'open', 3_000)
  assert.equal(one.sessions.length, 1)
  one.assign(1, upTo(2))
  await one.clock.advance(50)
  for (const generation of [2, 3, 4]) {
    one.coordination.loseNextAnswer(asked => asked.do === 'write' && asked.paths.includes(paths.held('w')))
    one.assign(generation, upTo(generation))
    await one.clock.advance(3_000)
    assert.deepEqual([one.held().generation, one.held().names, one.end.error], [generation, upTo(generation), null])
  }
})

test('COORDINATION 5: a worker with a unit that never stops lets its others go at once', async () => {
  const one = await running(20)
  const stuck = one.fake.unit('t/0')
  one.fake.leaves = false
  one.assign(2, [])
  for (const [unit, run] of [...one.fake.running]) if (unit !== 't/0') run.end()
  await one.clock.advance(50)
  assert.deepEqual(one.held().names, ['f/t/0'])
  await one.clock.advance(10_000)
  assert.deepEqual([stuck.ctx.abort.aborted, one.worker.state().dirty, one.held().names], [true, 1, ['f/t/0']])
})

test('a chroot that is deleted is lost in order, and nothing is registered before it is back', async () => {
  const one = await running(2)
  const { tree } = one.coordination
  const remove = (path: string) => {
    for (const name of tree.children(path)) remove(`${path}/${name}`)
    tree.write([{ do: 'remove', path, version: null }], 'somebody')
  }
  for (const name of tree.children('/')) remove(`/${name}`)
  await one.clock.advance(30_000)
  assert.deepEqual([one.runs(), one.worker.state().registered, one.worker.state().fences], [[], false, 0])
  await one.clock.until(() => one.worker.state().registered, 60_000)
})

test('a worker that may not write says so, and tries again ever more seldom', async () => {
  const one = workerOf()
  for (let i = 0; i < 5; i++) one.coordination.failNext('coordination-denied', asked => asked.do === 'write')
  await one.clock.advance(900)
  assert.equal(one.worker.state().trouble?.code, 'coordination-denied')
  await one.clock.until(() => one.worker.state().registered, 60_000)
  assert.ok(one.clock.nowMs() >= 15_000)
  assert.equal(one.worker.state().trouble, null)
})
