import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkpointAgainMs } from '../../engine/limits.ts'
import { flowCheckpoints } from '../../engine/mirror/checkpoints.ts'
import type { MirrorEvent } from '../../engine/mirror/events.ts'
import { newUnit } from '../../engine/mirror/run.ts'
import type { CheckpointStore, Entry } from '../../engine/ports/kafka.ts'
import { manualClock } from '../fakes/clock.ts'

const minuteMs = 60_000
const signal = new AbortController().signal

/** Units of one topic, all at offset 10, over a store that refuses what `refuse` says. */
function stored(partitions: number, committed: bigint | null) {
  const clock = manualClock()
  const saved: number[][] = []
  const refuse = new Set<number>()
  const events: MirrorEvent[] = []
  const inStore = new Map<number, Entry>()
  const store: CheckpointStore = {
    async load() {
      return [...inStore.values()]
    },
    async save(_group, entries) {
      saved.push(entries.map(entry => entry.partition))
      const refused = entries.filter(entry => refuse.has(entry.partition))
      for (const entry of entries) if (!refused.includes(entry)) inStore.set(entry.partition, entry)
      return refused.map(({ topic, partition }) => ({ part: { topic, partition }, code: 'group-in-use' as const }))
    },
  }
  const units = Array.from({ length: partitions }, (_, partition) => {
    const part = { topic: 't', partition }
    return newUnit({ part, topicId: '', destinationId: '', at: { offset: 10n, epoch: 0 }, until: null, committed })
  })
  const checkpoints = flowCheckpoints({
    store,
    group: 'millrace.flow',
    units: new Map(units.map(unit => [`t/${unit.part.partition}`, unit])),
    mayWrite: () => true,
    clock,
    tell: event => events.push(event),
    fatal: error => assert.fail(error as Error),
  })
  /** As the copy does it each interval, here each minute. */
  const minutes = async (count: number) => {
    for (let n = 0; n < count; n++) {
      await clock.advance(minuteMs)
      checkpoints.commit()
      await clock.settle()
      // The first call of a minute may only compare.
      checkpoints.commit()
      await clock.settle()
    }
  }
  return { checkpoints, saved, refuse, events, units, minutes }
}

test('a checkpoint found at the start is stored once, and an unchanged one again after twelve hours', async () => {
  const { checkpoints, saved, minutes } = stored(2, 10n)
  await minutes(checkpointAgainMs / minuteMs)
  assert.deepEqual(saved, [[0, 1]])
  await minutes(2)
  assert.deepEqual(saved, [
    [0, 1],
    [0, 1],
  ])
  assert.equal(await checkpoints.finish(signal), true)
  assert.equal(saved.length, 2)
})

test('a checkpoint that was refused is not taken as stored: it is said once, tried again, and the end is not whole', async () => {
  const { checkpoints, saved, refuse, events, units, minutes } = stored(2, null)
  refuse.add(1)
  await checkpoints.begin(units, signal)
  assert.deepEqual(
    units.map(unit => unit.committed),
    [10n, null],
  )
  await minutes(3)
  assert.deepEqual(saved, [[0, 1], [1], [1], [1]])
  assert.deepEqual(
    events.map(event => event.code),
    ['group-in-use'],
  )
  assert.equal(await checkpoints.finish(signal), false)
  refuse.clear()
  assert.equal(await checkpoints.finish(signal), true)
  assert.deepEqual(
    units.map(unit => unit.committed),
    [10n, 10n],
  )
})
