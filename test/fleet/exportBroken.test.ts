import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stateExports } from '../../engine/fleet/exports.ts'
import { fakeStore } from '../fakes/store.ts'
import { fleetOf } from './controllerOf.ts'

test('a bug in what keeps the export ends the controller, and is not lost', async () => {
  const wall = { wallMs: () => 1 }
  const exports = { ...stateExports(fakeStore(wall), { clock: wall, keepsVersions: true }) }
  exports.write = async () => {
    throw new TypeError('a bug')
  }
  const fleet = fleetOf()
  fleet.declare('f')
  const leader = fleet.controller('c1', { exports })
  await fleet.clock.until(() => leader.end.error !== null, 10_000)
  assert.equal(String(leader.end.error), 'TypeError: a bug')
})
