import assert from 'node:assert/strict'
import { test } from 'node:test'
import { paths } from '../../engine/fleet/decide/documents/paths.ts'
import { fleetOf } from './controllerOf.ts'

test('a flow that is made and deleted again and again leaves nothing that watches it', async () => {
  const fleet = fleetOf()
  const watching = new Set<AbortSignal>()
  const leader = fleet.controller('c1', {
    open() {
      const session = fleet.coordination.open()
      return {
        ...session,
        watch(path, kind, onHint, signal) {
          if (path === paths.flow('f')) watching.add(signal)
          session.watch(path, kind, onHint, signal)
        },
      }
    },
  })
  await fleet.clock.until(leader.leads, 10_000)
  for (let n = 0; n < 3; n++) {
    fleet.flow('f')
    await fleet.clock.advance(1_000)
    const { version = 0 } = fleet.coordination.tree.read(paths.flow('f')) ?? {}
    fleet.coordination.tree.write([{ do: 'remove', path: paths.flow('f'), version }], 'somebody')
    await fleet.clock.advance(1_000)
  }
  assert.deepEqual(
    [...watching].map(signal => signal.aborted),
    [true, true, true],
  )
})

test('an edit of the file that cannot be written is told, and the leader goes on with what ran before', async () => {
  const fleet = fleetOf()
  fleet.declare('f', { a: 1 })
  const leader = fleet.controller('c1')
  await fleet.clock.until(() => fleet.text(paths.flow('f')) !== null, 10_000)
  fleet.declare('f', { a: 0.5 })
  leader.edited()
  await fleet.clock.advance(2_000)
  assert.deepEqual([leader.end.error, leader.leads(), fleet.flowDoc('f').spec], [null, true, { a: 1 }])
  assert.deepEqual(
    leader.events.map(([flow, { code }]) => [flow, code]),
    [['f', 'config-invalid']],
  )
})
