import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { describe, it } from 'node:test'
import { planted } from '../sim/planted.ts'
import { playSeeds } from '../sim/seeds.ts'
import { defaults, type SimResult } from '../sim/simulate.ts'

const threads = availableParallelism()
/** A minute on two idle cores; ten times that on a machine that has other things to do. */
const timeout = 900_000

function told({ seed, failure }: SimResult): string {
  const last = failure?.last.map(line => `  ${line}`).join('\n')
  return `seed ${seed}: ${failure?.message}\nthe last events:\n${last}\nagain: npm run sim -- --seed ${seed} --trace`
}

describe('the simulation of a fleet', () => {
  it('COORDINATION 4: in 1 000 seeds every invariant holds', { timeout }, async () => {
    const failed: SimResult[] = []
    let played = 0
    await playSeeds({
      ...{ from: 1, count: 1_000, threads, options: { rateSpread: defaults.rateSpread } },
      each(result) {
        played++
        if (result.failure) failed.push(result)
        return failed.length === 0
      },
    })
    assert.equal(failed.length, 0, failed.map(told).join('\n'))
    assert.equal(played, 1_000)
  })

  for (const { name, patches, rateSpread = defaults.rateSpread } of planted) {
    it(`COORDINATION 4: within 200 seeds a planted fault is found: ${name}`, { timeout }, async () => {
      let found: SimResult | null = null
      await playSeeds({
        ...{ from: 1, count: 200, threads, patches, options: { rateSpread } },
        each(result) {
          if (result.failure) found ??= result
          return result.failure === null
        },
      })
      assert.ok(found, 'no seed has found it')
      assert.match((found as SimResult).failure?.invariant ?? '', /^I\d$/)
    })
  }
})
