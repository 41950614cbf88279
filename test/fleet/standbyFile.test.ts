import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DeclaredFlow, declaredChanges } from '../../engine/fleet/decide/declared.ts'
import { writeFlow } from '../../engine/fleet/decide/documents/flow.ts'
import { paths } from '../../engine/fleet/decide/documents/paths.ts'
import { watchStandbyFile } from '../../engine/fleet/standbyFile.ts'
import { noOverlay } from '../../engine/flow/overlay.ts'
import { manualClock } from '../fakes/clock.ts'
import { fakeCoordination } from '../fakes/coordinator.ts'
import { fleetByHand } from './workerOf.ts'

const flow = (topics: string): DeclaredFlow => ({ kind: 'mirror', spec: { topics }, overlay: noOverlay })

test('a controller that stands by with another file says what it would change, once, and nothing when it leads', async () => {
  const clock = manualClock()
  const coordination = fakeCoordination({ clock })
  const { put } = fleetByHand(clock, coordination)
  const session = coordination.open()
  for (const [name, doc] of declaredChanges(new Map([['clicks', flow('a')]]), new Map(), 1).changes) {
    put(paths.flow(name), writeFlow(doc))
  }
  let declared = new Map([['clicks', flow('a')]])
  let leads = false
  const said: string[] = []
  const end = watchStandbyFile({
    ...{ coordinator: () => session, declared: () => declared, leads: () => leads, clock },
    tell: (_flow, { message }) => said.push(message),
  })
  await clock.advance(60_000)
  assert.deepEqual(said, [], 'the same file is nothing to tell')
  declared = new Map([['books', flow('b')]])
  await clock.advance(20_000)
  assert.deepEqual(said, [], 'an edit that the leader is about to take is none either')
  await clock.advance(60_000)
  assert.deepEqual(said, ["this controller's file is not the leader's: it would pause clicks, it would write books"])
  leads = true
  declared = new Map()
  await clock.advance(60_000)
  assert.equal(said.length, 1)
  end()
})
