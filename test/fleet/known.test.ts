import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fleetOf } from './controllerOf.ts'

test('a worker whose beats are missing is silent before anybody may have what it holds, and that is counted apart', async () => {
  const fleet = fleetOf()
  fleet.declare('f')
  const { controller, fake } = fleet.controller('c1')
  fake.shown.units = ['t/0', 't/1']
  const first = fleet.worker('a')
  fleet.worker('b')
  const flow = () => controller.known()?.flows().get('f')
  await fleet.clock.until(() => flow()?.held === 2, 60_000)
  assert.deepEqual([flow()?.silent, controller.known()?.workers().get('a')?.silent], [0, false])
  fleet.coordination.suspend(first.session(), Number.POSITIVE_INFINITY)
  await fleet.clock.until(() => controller.known()?.workers().get('a')?.silent === true, 4_800)
  assert.deepEqual([flow()?.held, flow()?.silent, controller.known()?.workers().get('b')?.silent], [1, 1, false])
  await fleet.clock.until(() => flow()?.held === 2, 60_000)
  assert.equal(flow()?.silent, 0)
})

test('all units of a flow are told at once: who has each, and why nobody has it', async () => {
  const fleet = fleetOf()
  fleet.declare('f')
  fleet.declare('g')
  const leader = fleet.controller('c1')
  leader.fake.shown.units = ['t/0', 't/1']
  await fleet.clock.until(() => leader.controller.known()?.flows().get('f')?.wanted === 2, 60_000)
  const units = () =>
    [...(leader.controller.known()?.units('f') ?? [])].map(([unit, { owner, why }]) => `${unit} ${owner} ${why}`)
  await fleet.clock.until(() => units()[0] !== 't/0 null null', 60_000)
  assert.deepEqual(units(), ['t/0 null no-worker', 't/1 null no-worker'])
  fleet.worker('a')
  await fleet.clock.until(() => units()[1] === 't/1 a null', 60_000)
  assert.deepEqual(units(), ['t/0 a null', 't/1 a null'])
  assert.equal(leader.controller.known()?.units('h').size, 0)
})
