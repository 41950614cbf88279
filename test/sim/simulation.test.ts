import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { root } from '../tidy/tree.ts'
import { planted, smallDocuments } from './planted.ts'
import { playSeeds } from './seeds.ts'
import { defaults, type SimResult } from './simulate.ts'

async function play(from: number, count: number): Promise<SimResult[]> {
  const results: SimResult[] = []
  const { rateSpread } = defaults
  await playSeeds({ from, count, threads: 2, options: { rateSpread }, each: result => results.push(result) > 0 })
  return results.sort((a, b) => a.seed - b.seed)
}

it('COORDINATION 4: of a few seeds all invariants hold, and the same seed has the same trace in another thread', async () => {
  const first = await play(1, 4)
  for (const { seed, failure } of first) assert.equal(failure, null, `seed ${seed}: ${failure?.message}`)
  const again = await play(2, 2)
  assert.deepEqual(
    again.map(({ sum }) => sum),
    first.slice(1, 3).map(({ sum }) => sum),
  )
  assert.equal(new Set(first.map(({ sum }) => sum)).size, 4)
})

it('every text that a planted fault replaces is there', () => {
  for (const { file, from } of [...smallDocuments, ...planted.flatMap(({ patches }) => patches)])
    assert.ok(readFileSync(join(root, file), 'utf8').includes(from), `${file} has no text to replace any more: ${from}`)
})
