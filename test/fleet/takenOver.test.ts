import assert from 'node:assert/strict'
import { test } from 'node:test'
import { writeAssignment } from '../../engine/fleet/decide/documents/assignment.ts'
import { writeHeld } from '../../engine/fleet/decide/documents/held.ts'
import { paths } from '../../engine/fleet/decide/documents/paths.ts'
import { manualClock } from '../fakes/clock.ts'
import { fakeCoordination } from '../fakes/coordinator.ts'
import { workerOf } from './workerOf.ts'

const upTo = (n: number) => [...Array(n).keys()].map(unit => `f/t/${unit}`)

/** A worker with 20 units; right before its operation number `at` a leader takes it over, at the beat that it saw last. */
async function takenOver(at: number, expires: boolean) {
  const clock = manualClock()
  let left = Number.POSITIVE_INFINITY
  let takeOver = () => {}
  const coordination = fakeCoordination({
    clock,
    seen() {
      if (left-- === 0) takeOver()
    },
  })
  const one = workerOf({ clock, coordination })
  one.flow('f')
  await one.registered()
  one.assign(1, upTo(20))
  await clock.until(() => one.fake.running.size === 20, 5_000)
  await clock.advance(5_000)
  const { tree } = coordination
  const seen = (path: string) => tree.read(path)?.version ?? -1
  const [beat, assignment, held] = [paths.worker('w'), paths.assignment('w'), paths.held('w')].map(seen)
  let isDone: boolean | null = null
  takeOver = () => {
    const at2 = { epoch: 1, generation: 2, chunks: 0, units: new Map() }
    const empty = writeAssignment({ ...at2, specs: new Map() })
    const gone = writeHeld({ ...at2, atMs: 0, errors: [], state: 'left' })
    const written = tree.write(
      [
        { do: 'remove', path: paths.worker('w'), version: beat ?? -1 },
        { do: 'set', path: paths.assignment('w'), data: empty, version: assignment ?? -1 },
        { do: 'set', path: paths.held('w'), data: gone, version: held ?? -1 },
      ],
      'leader',
    )
    isDone = written.done
  }
  left = at
  if (expires) coordination.expire(one.session())
  await clock.until(() => isDone !== null, 60_000)
  return { ...one, isDone: isDone as boolean | null }
}

test('COORDINATION 6: a takeover at any moment of a lost registration wins or fails as a whole', async () => {
  const won = { true: 0, false: 0 }
  for (const expires of [false, true]) {
    for (let at = 0; at < 25; at++) {
      const one = await takenOver(at, expires)
      const hint = `${at} ${expires}`
      if (one.isDone) {
        won[`${expires}`]++
        // Whatever it still has it gives up, and it registers anew with nothing.
        await one.clock.until(() => one.sessions.length === 2 && one.worker.state().registered, 10_000)
      }
      await one.clock.advance(5_000)
      assert.equal(one.end.error, null, hint)
      const isOurs = !one.isDone && !expires
      assert.deepEqual(one.held().names, isOurs ? upTo(20).sort() : [], hint)
      assert.equal(one.runs().length, isOurs ? 20 : 0, hint)
      one.assign(3, upTo(20))
      await one.clock.advance(100)
      assert.deepEqual([one.runs().length, one.held().generation, one.held().state], [20, 3, 'running'], hint)
    }
  }
  // Both has happened: before its next beat a takeover wins, after it and without its document it fails.
  assert.ok(won.false > 0 && won.false < 25, JSON.stringify(won))
})
