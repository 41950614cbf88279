import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noOverlay } from '../../engine/flow/overlay.ts'
import { fleetOf } from './controllerOf.ts'

test('offsets are set of free units only, of those that are asked for, and the flow is looked at again', async () => {
  const fleet = fleetOf()
  fleet.declare('f')
  const leader = fleet.controller('c1')
  const { fake } = leader
  fake.shown.units = ['t/0', 't/1', 'u/0']
  const worker = fleet.worker('a')
  await fleet.clock.until(() => worker.runs().length === 3, 60_000)
  const set = (parts: '*' | Map<string, '*' | number[]>, dryRun = false) => {
    const known = leader.controller.known()
    assert.ok(known)
    return known.setOffsets('f', { parts, to: 'latest', dryRun }, AbortSignal.timeout(5_000))
  }
  /** Lets the clock go on meanwhile: what is not free is waited for. */
  const refused = async (parts: Parameters<typeof set>[0], fault: object) => {
    const asked = assert.rejects(set(parts), fault)
    await fleet.clock.advance(4_000)
    await asked
  }
  await refused('*', { code: 'conflict', hint: 'pause it, and wait until nobody holds it' })
  await refused(new Map([['tt', '*']]), { code: 'not-found', message: "flow f: it has no topic 'tt'" })
  await refused(new Map([['t', [0, 7]]]), { code: 'not-found', message: 'flow f: t has no partition 7' })
  assert.deepEqual(fake.offsetsAsked, [])
  fleet.declare('f', {}, { ...noOverlay, paused: new Map([['t', '*']]) })
  leader.edited()
  await fleet.clock.until(() => worker.runs().length === 1, 60_000)
  await fleet.clock.until(() => leader.controller.known()?.flows().get('f')?.held === 1, 60_000)
  await refused('*', { code: 'conflict' })
  await set(new Map([['t', [1]]]), true)
  await fleet.clock.advance(1_000)
  const looks = fake.looks
  assert.deepEqual(await set(new Map([['t', '*']])), [
    { topic: 't', partition: 0, before: 1n, after: 2n, fault: null },
    { topic: 't', partition: 1, before: 1n, after: 2n, fault: null },
  ])
  assert.deepEqual(
    fake.offsetsAsked.map(({ units, dryRun }) => [[...units], dryRun]),
    [
      [['t/1'], true],
      [['t/0', 't/1'], false],
    ],
  )
  await fleet.clock.advance(1_000)
  assert.equal(fake.looks, looks + 1)
})
