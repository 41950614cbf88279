import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codec, crc32c } from '../../engine/adapters/kafka/native.ts'
import { noFlowOverlay, writeFlow } from '../../engine/fleet/decide/documents/flow.ts'
import { unitsOf } from '../../engine/fleet/decide/units.ts'
import { turnsOf } from '../../engine/fleet/turns.ts'
import { startWorkerFlows } from '../../engine/fleet/workerFlows.ts'
import type { Coordinator, Node } from '../../engine/ports/coordinator.ts'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { manualClock } from '../fakes/clock.ts'
import { fakeKind } from './fakeKind.ts'

/** Flows of a worker whose reads are answered when the test says so. */
function flowsByHand() {
  const clock = manualClock()
  const fake = fakeKind()
  const reads: ((node: Node) => void)[] = []
  const coordinator = { read: () => new Promise(resolve => reads.push(resolve)) } as unknown as Coordinator
  const fatal = (error: unknown) => assert.fail(String(error))
  const flows = startWorkerFlows({
    kinds: { fake: { kind: fake.kind, readSpec: json => json } },
    parts: {
      ...{ clock, chance: () => 0.5, codec, crc: crc32c, stops: turnsOf(64), kafka: () => ({}) as KafkaCluster },
      lease: { mayWrite: () => true, mayCommit: () => true },
      ...{ stop: new AbortController().signal, abort: new AbortController().signal },
      ...{ tell() {}, changed() {}, dirty() {}, broke: fatal },
    },
    fatal,
  })
  return {
    ...{ clock, fake, flows },
    give(generation: number, units: readonly string[], tag: string) {
      flows.apply({ epoch: 1, generation, chunks: 0, units: unitsOf(units), specs: new Map([['f', tag]]) })
      flows.refresh(coordinator)
    },
    async answer(tag: string, spec: object) {
      const doc = { kind: 'fake', origin: 'api', changedBy: { atMs: 1, by: 'test' }, spec: spec as never }
      const data = writeFlow({ ...doc, overlay: noFlowOverlay, deleting: false, rest: new Map() })
      reads.shift()?.({ data, tag, version: 0, created: '1', owner: null })
      await clock.settle()
    },
  }
}

test('what an assignment gives anew does not begin by a document that was read for the one before', async () => {
  const { fake, flows, give, answer } = flowsByHand()
  give(1, ['f/t/0'], 'old')
  // It comes while the document is being read, and the document that it was made from is a later one.
  give(2, ['f/t/0', 'f/t/1'], 'new')
  await answer('old', { a: 1 })
  assert.deepEqual([fake.specs, flows.held()], [[], ['f/t/0', 'f/t/1']])
  await answer('new', { a: 2 })
  assert.deepEqual([fake.specs, [...fake.running.keys()]], [[{ a: 2 }], ['t/0', 't/1']])
})
