import assert from 'node:assert/strict'
import { test } from 'node:test'
import { writeCandidate } from '../../engine/fleet/decide/documents/candidate.ts'
import { writeEpoch } from '../../engine/fleet/decide/documents/epoch.ts'
import { paths } from '../../engine/fleet/decide/documents/paths.ts'
import { watchLeader } from '../../engine/fleet/leaderSeen.ts'
import type { Coordinator } from '../../engine/ports/coordinator.ts'
import { manualClock } from '../fakes/clock.ts'
import { fakeCoordination } from '../fakes/coordinator.ts'
import { fleetByHand } from './workerOf.ts'

/** Who watches, over whichever session is in use. */
async function watcher() {
  const clock = manualClock()
  const coordination = fakeCoordination({ clock })
  const { put } = fleetByHand(clock, coordination)
  const watched: AbortSignal[] = []
  const open = (): Coordinator => {
    const session = coordination.open()
    return {
      ...session,
      watch(path, kind, onHint, signal) {
        watched.push(signal)
        session.watch(path, kind, onHint, signal)
      },
    }
  }
  let session = open()
  const leader = watchLeader({ coordinator: () => session, clock })
  await clock.advance(1_000)
  return {
    ...{ clock, leader, watched, put },
    anew() {
      session = open()
    },
  }
}

test('the first in line leads as soon as it has taken office', async () => {
  const { clock, leader, put } = await watcher()
  const url = 'http://a'
  put(`${paths.candidate}0000000001`, writeCandidate({ id: 'a', leaseMs: 7_000, software: '1', url }))
  await clock.advance(1_000)
  assert.equal(leader.now(), null)
  put(paths.epoch, writeEpoch({ epoch: 3, leader: 'a', atMs: 1 }))
  await clock.advance(1_000)
  assert.deepEqual(leader.now(), { id: 'a', epoch: 3, url })
})

test('of a session that is over nothing is watched any more', async () => {
  const { clock, leader, watched, anew } = await watcher()
  anew()
  await clock.advance(2_000)
  assert.deepEqual(
    watched.map(signal => signal.aborted),
    [true, false],
  )
  leader.close()
  assert.equal(watched[1]?.aborted, true)
})
