import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MillraceError } from '../../engine/errors.ts'
import type { Generation } from '../../engine/fleet/decide/assignment.ts'
import { type AssignmentDoc, readAssignment } from '../../engine/fleet/decide/documents/assignment.ts'
import { paths } from '../../engine/fleet/decide/documents/paths.ts'
import { namesOf } from '../../engine/fleet/decide/units.ts'
import { readWhole } from '../../engine/fleet/wholeDocument.ts'
import type { Action, SteerContext } from '../../engine/flow/contract.ts'
import { fleetOf } from './controllerOf.ts'

/** A run of so many units: each has a result, and at last the run is committed; all in a store that outlives leaders. */
function runIn(units: number) {
  const results = new Map<string, number>()
  const store = { results, commits: 0, calls: 0, refused: 0, atCall: async (_call: number): Promise<void> => {} }
  const steer = (): Action[] => {
    const left = Array.from({ length: units }, (_, n) => `r/${n}`).filter(unit => !results.has(unit))
    const [first] = left
    if (first !== undefined) return [{ do: 'result', units: [first] }]
    return store.commits === 0 ? [{ do: 'commit' }] : []
  }
  async function perform(action: Action, ctx: SteerContext): Promise<never[]> {
    await store.atCall(store.calls++)
    if (!ctx.mayWrite()) {
      store.refused++
      throw new MillraceError('deposed', 'its lease is over')
    }
    if (action.do === 'commit') store.commits++
    for (const unit of action.units ?? []) results.set(unit, (results.get(unit) ?? 0) + 1)
    return []
  }
  return { store, steer, perform }
}

function controllerFor(fleet: ReturnType<typeof fleetOf>, id: string, run: ReturnType<typeof runIn>) {
  const one = fleet.controller(id)
  one.fake.steer = run.steer
  one.fake.kind.perform = (action, _spec, _view, ctx) => run.perform(action, ctx)
  return one
}

test('COORDINATION 7: a leader killed in each call of a run of 17 units: one commit, each result once', async () => {
  for (let killed = 0; killed <= 18; killed++) {
    const fleet = fleetOf()
    fleet.declare('f')
    const run = runIn(17)
    const first = controllerFor(fleet, 'c1', run)
    controllerFor(fleet, 'c2', run)
    const open = Promise.withResolvers<void>()
    run.store.atCall = async call => {
      if (call !== killed) return
      // In the middle of its call it is cut off, for longer than its lease.
      fleet.coordination.suspend(first.session(), Number.POSITIVE_INFINITY)
      await open.promise
    }
    await fleet.clock.until(() => run.store.commits === 1 || run.store.calls > killed, 60_000)
    await fleet.clock.advance(30_000)
    open.resolve()
    await fleet.clock.advance(30_000)
    assert.equal(run.store.commits, 1, `killed in call ${killed}`)
    assert.deepEqual(
      [...run.store.results.values()].filter(count => count !== 1),
      [],
    )
    assert.equal(run.store.results.size, 17)
    assert.equal(run.store.refused, killed <= 17 ? 1 : 0)
  }
})

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
