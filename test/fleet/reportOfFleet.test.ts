import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fleetOf } from './controllerOf.ts'

test('the leader, which runs no unit, shows states and lag as the owners of units have measured them', async () => {
  const fleet = fleetOf()
  fleet.declare('f')
  const leader = fleet.controller('c1')
  leader.fake.shown.units = ['t/0', 't/1', 't/2']
  const workers = ['a', 'b'].map(id => fleet.worker(id))
  const report = () => leader.controller.known()?.flows().get('f')?.report() ?? null
  await fleet.clock.until(() => workers.reduce((sum, worker) => sum + worker.runs().length, 0) === 3, 60_000)
  assert.equal(report()?.notRunning, 3)
  for (const worker of workers) {
    worker.fake.measured.set('t/0', { lagRecords: 5 })
    worker.fake.measured.set('t/1', { lagRecords: 7, state: 'degraded' })
    worker.fake.measured.set('t/2', { lagRecords: null })
  }
  await fleet.clock.until(() => report()?.lagRecords === 12, 60_000)
  const { partitions, notRunning, partitionsUnknown } = report() ?? {}
  assert.deepEqual([partitions, notRunning, partitionsUnknown], [3, 1, 1])
})

test('what a flow warns of is told by its leader, also before anybody has looked at it', async () => {
  const fleet = fleetOf()
  fleet.declare('f')
  const warning = { code: 'loop-guard-off', message: 'm', hint: null }
  const leader = fleet.controller('c1')
  const { report } = leader.fake.kind
  leader.fake.kind.report = (...of) => ({ ...report(...of), warnings: of[1] === null ? [warning] : [] })
  await fleet.clock.until(() => leader.controller.known()?.flows().get('f')?.kind === 'fake', 60_000)
  assert.deepEqual(leader.controller.known()?.flows().get('f')?.warnings, [warning])
})
