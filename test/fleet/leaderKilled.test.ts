import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MillraceError } from '../../engine/errors.ts'
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
