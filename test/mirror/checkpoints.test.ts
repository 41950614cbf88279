import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FlowEvent } from '../../engine/flow/event.ts'
import { checkpointAgainMs, checkpointIntervalMs, ownerCommitsMs } from '../../engine/limits.ts'
import { flowCheckpoints } from '../../engine/mirror/checkpoints.ts'
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
  const events: FlowEvent[] = []
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
    const at = { offset: 10n, epoch: 0 }
    const unit = newUnit({ part, topicId: '', destination: part, destinationId: '', at, nowMs: clock.nowMs() })
    return Object.assign(unit, { held: true, committed })
  })
  const checkpoints = flowCheckpoints({
    store,
    group: 'millrace.flow',
    units: new Map(units.map(unit => [`t/${unit.part.partition}`, unit])),
    mayCommit: () => true,
    clock,
    tell: event => events.push(event),
    fatal: error => assert.fail(error as Error),
  })
  /** As the worker does it each interval. */
  const intervals = async (count: number, ms: number) => {
    for (let n = 0; n < count; n++) {
      await clock.advance(ms)
      checkpoints.commit()
      await clock.settle()
      // The first call of an interval may only compare.
      checkpoints.commit()
      await clock.settle()
    }
  }
  /** The first minute of the units, in which each interval stores them, is over. */
  const ownersMinute = async () => {
    await intervals(ownerCommitsMs / checkpointIntervalMs, checkpointIntervalMs)
    saved.length = 0
  }
  const minutes = (count: number) => intervals(count, minuteMs)
  return { checkpoints, saved, refuse, events, units, inStore, clock, intervals, ownersMinute, minutes }
}

test('for the first minute of its owner a checkpoint is stored each interval although it has not changed', async () => {
  const { saved, units, clock, intervals } = stored(2, 10n)
  await intervals(1, 500)
  assert.deepEqual(saved.slice(0, 1), [[0, 1]])
  await intervals(59, checkpointIntervalMs)
  assert.ok(saved.length >= 60)
  assert.ok(saved.every(partitions => partitions.length === 2))
  saved.length = 0
  await intervals(60, checkpointIntervalMs)
  assert.equal(saved.length, 0)
  // It is given back, and taken again: only that one is new.
  Object.assign(units[1] ?? {}, { ownedSinceMs: clock.nowMs() })
  await intervals(1, checkpointIntervalMs)
  assert.ok(saved.length > 0 && saved.every(([one, more]) => one === 1 && more === undefined))
})

test('MIRROR 26: unchanged for 13 h, a checkpoint is stored exactly once after the first minute, at 12 h', async () => {
  const { checkpoints, saved, units, ownersMinute, minutes } = stored(2, 10n)
  await ownersMinute()
  await minutes(checkpointAgainMs / minuteMs - 2)
  assert.deepEqual(saved, [])
  await minutes(62)
  assert.deepEqual(saved, [[0, 1]])
  for (const unit of units) assert.equal(await checkpoints.settle(unit, signal), true)
  assert.equal(saved.length, 1)
})

test('what is not held is not stored, neither each interval nor when another one leaves', async () => {
  const { checkpoints, saved, units, minutes } = stored(3, null)
  const [first, , last] = units
  assert.ok(first && last)
  first.held = false
  await minutes(1)
  last.window.position = 11n
  assert.equal(await checkpoints.settle(last, signal), true)
  assert.ok(saved.length > 1 && saved.every(partitions => !partitions.includes(0)))
  assert.equal(last.committed, 11n)
  assert.equal(first.committed, null)
})

test('a checkpoint that was refused is not taken as stored: it is said once, tried again, and its unit does not leave whole', async () => {
  const { checkpoints, saved, refuse, events, units, ownersMinute, minutes } = stored(2, null)
  const [first, last] = units
  assert.ok(first && last)
  refuse.add(1)
  await ownersMinute()
  assert.deepEqual([first.committed, last.committed], [10n, null])
  assert.ok(last.commitSinceMs !== null && first.commitSinceMs === null)
  await minutes(3)
  assert.ok(saved.length >= 3 && saved.every(([one, more]) => one === 1 && more === undefined))
  assert.deepEqual(
    events.map(event => event.code),
    ['group-in-use'],
  )
  assert.equal(await checkpoints.settle(first, signal), true)
  assert.equal(await checkpoints.settle(last, signal), false)
  refuse.clear()
  assert.equal(await checkpoints.settle(last, signal), true)
  assert.deepEqual([first.committed, last.committed], [10n, 10n])
})

test('units that leave together wait for their checkpoints in as many requests as one of them would', async () => {
  const { checkpoints, saved, units, ownersMinute } = stored(20, null)
  await ownersMinute()
  for (const unit of units) unit.window.position = 11n
  assert.ok((await Promise.all(units.map(unit => checkpoints.settle(unit, signal)))).every(whole => whole))
  assert.deepEqual(
    saved.map(partitions => partitions.length),
    [20],
  )
})

test('what keeps its stored checkpoint for somebody to decide is not stored, and leaves whole', async () => {
  const { checkpoints, saved, units, minutes } = stored(1, 7n)
  const [unit] = units
  assert.ok(unit)
  unit.fault = { code: 'destination-recreated', message: 'm', hint: null, offset: 10n }
  await minutes(2)
  assert.equal(await checkpoints.settle(unit, signal), true)
  assert.deepEqual(saved, [])
})

test('what somebody has deleted from the group while it runs is stored again', async () => {
  const { saved, inStore, ownersMinute, minutes, events } = stored(3, null)
  await ownersMinute()
  inStore.delete(1)
  await minutes(2)
  assert.deepEqual(saved, [[1]])
  assert.deepEqual([...inStore.keys()].toSorted(), [0, 1, 2])
  inStore.clear()
  await minutes(2)
  assert.deepEqual(saved, [[1], [0, 1, 2]])
  assert.deepEqual(events, [])
})
