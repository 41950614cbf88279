import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seeded } from '../../rig/seeded.ts'
import { variedRecord } from '../../rig/variedRecord.ts'

const how = { timeMs: 1_700_000_000_000, valueBytes: [20, 40] as [number, number] }
const made = (seed: string) => {
  const chance = seeded(seed)
  return Array.from({ length: 200 }, (_, i) => variedRecord(chance, i, how))
}

test('sample records are the same for one seed and others for another', () => {
  assert.deepEqual(made('a 1'), made('a 1'))
  assert.notDeepEqual(made('a 1'), made('a 2'))
})

test('sample values keep to their sizes', () => {
  const sizes = made('a').map(({ value }) => value?.length ?? 0)
  assert.ok(sizes.every(size => size === 0 || (size >= 20 && size <= 40)))
  assert.ok(sizes.includes(0))
  assert.ok(new Set(sizes).size > 10)
})
