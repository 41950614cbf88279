import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Generation } from '../../engine/fleet/decide/assignment.ts'
import { type AssignmentDoc, readAssignment } from '../../engine/fleet/decide/documents/assignment.ts'
import { paths } from '../../engine/fleet/decide/documents/paths.ts'
import { namesOf } from '../../engine/fleet/decide/units.ts'
import { readWhole } from '../../engine/fleet/wholeDocument.ts'
import { fleetOf } from './controllerOf.ts'

test('COORDINATION 3: a leader killed after each of its writes leaves the old units or the new ones, never a mixture', async () => {
  const count = 8_500
  const named = (letter: string) =>
    Array.from({ length: count }, (_, n) => `${letter.repeat(56)}${String(n).padStart(4, '0')}/0`)
  for (let killed = 1; ; killed++) {
    const fleet = fleetOf()
    fleet.declare('f')
    const [old, next] = [named('x'), named('y')]
    const first = fleet.controller('c1')
    first.fake.shown.units = old
    const worker = fleet.worker('a')
    await fleet.clock.until(() => worker.worker.state().held === count, 60_000)
    const second = fleet.controller('c2')
    second.fake.shown.units = next
    await fleet.clock.advance(2_000)
    first.fake.shown.units = next
    let writes = 0
    const before = fleet.epoch()
    const inTree = async () => unitsAt(fleet)
    fleet.onWrite(first.session, () => {
      if (++writes === killed) fleet.coordination.suspend(first.session(), Number.POSITIVE_INFINITY)
    })
    const kinds = new Set<string>()
    await fleet.clock.until(() => fleet.epoch() > before || worker.fake.running.has(next[0] ?? ''), 60_000)
    kinds.add(kindOf(await inTree(), count))
    await fleet.clock.until(() => worker.fake.running.size === count && worker.fake.running.has(next[0] ?? ''), 120_000)
    kinds.add(kindOf(await inTree(), count))
    for (const kind of kinds) assert.ok(['old', 'none', 'new'].includes(kind), `after write ${killed}: ${kind}`)
    if (writes < killed) break
  }
})

/** As a worker reads it: the head with its chunks. */
async function unitsAt(fleet: ReturnType<typeof fleetOf>): Promise<string[]> {
  const path = paths.assignment('a')
  const reader = fleet.coordination.open()
  await fleet.clock.settle()
  const found = await readWhole<AssignmentDoc>(reader, path, {
    parse: text => readAssignment(text, path),
    chunkPath: (at: Generation, chunk) => paths.assignmentChunk('a', at, chunk),
  })
  await reader.close()
  return namesOf(found?.doc.units ?? new Map())
}

function kindOf(units: readonly string[], count: number): string {
  if (units.length === 0) return 'none'
  if (units.length !== count) return `${units.length} units`
  const letters = new Set(units.map(unit => unit[2]))
  return letters.size > 1 ? 'mixture' : letters.has('x') ? 'old' : 'new'
}
