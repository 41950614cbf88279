import assert from 'node:assert/strict'
import { test } from 'node:test'
import { againAt } from '../../../engine/fleet/decide/againAt.ts'
import { noWishes } from '../../../engine/fleet/decide/documents/wishes.ts'
import { newMemory, unknownWorker } from '../../../engine/fleet/decide/memory.ts'
import type { Observed } from '../../../engine/fleet/decide/observed.ts'
import { draftOf } from '../../../engine/fleet/decide/roundDraft.ts'
import { withdrawMs } from '../../../engine/limits.ts'

const nothing: Observed = {
  ...{ workers: new Map(), assignments: new Map(), helds: new Map(), wishes: noWishes, flows: new Map() },
  ...{ weightOf: () => 1, stuck: new Set(), doubtful: new Set(), answeredSinceMs: 0, sessionMs: 10_000 },
}

test('a paused flow of two hundred thousand units is waited for as one of a few is', () => {
  const at = { epoch: 1, generation: 2 }
  const units = Array.from({ length: 200_000 }, (_, n) => [`f/t/${n}`, { from: 'w', at, sinceMs: -25_000 }] as const)
  const worker = { ...unknownWorker(0), node: { created: '1', version: 3 } }
  const memory = { ...newMemory(1, 0), balanceMs: 10_000, workers: new Map([['w', worker]]), transit: new Map(units) }
  assert.equal(againAt(draftOf(memory, nothing, 10), memory), withdrawMs - 25_000)
})
