import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codec, crc32c } from '../../engine/adapters/kafka/native.ts'
import type { OffsetsWish, SteerContext } from '../../engine/flow/contract.ts'
import { noOverlay } from '../../engine/flow/overlay.ts'
import { checkpointFrom } from '../../engine/mirror/decide/checkpointMetadata.ts'
import { mirrorKind } from '../../engine/mirror/kind.ts'
import { batchOf, marker } from '../fakes/kafka/batches.ts'
import { mirrorOf } from './mirrorOf.ts'

const group = 'millrace.flow'
const paused = { overlay: { ...noOverlay, paused: '*' as const } }
const part = { topic: 't', partition: 0 }

/** A mirror of topic `t`, of which people ask what they may ask of its offsets. */
function askedOf(how: { partitions?: number; spec?: Record<string, unknown> } = {}) {
  const mirror = mirrorOf({ brokers: 1, spec: how.spec ?? {} })
  mirror.east.topic('t', how.partitions ?? 1)
  const { clock, east, west } = mirror
  const ctx: SteerContext = {
    ...{ flow: 'flow', epoch: 1, clock, chance: () => 0.5, codec, crc: crc32c, untilEnd: false },
    kafka: name => (name === 'east' ? east : west),
    ...{ mayWrite: () => true, tell() {}, signal: new AbortController().signal },
  }
  async function set(to: OffsetsWish['to'], units = ['t/0'], dryRun = false) {
    const { spec, view } = mirror.seen()
    assert.ok(view && mirrorKind.setOffsets)
    const changes = await mirror.over(mirrorKind.setOffsets({ units: new Set(units), to, dryRun }, spec, view, ctx))
    return changes.map(({ topic, partition, before, after, fault }) =>
      fault === null ? `${topic}/${partition} ${before} ${after}` : `${topic}/${partition} ${before} ${fault.code}`,
    )
  }
  async function rows() {
    const { spec, view } = mirror.seen()
    assert.ok(mirrorKind.offsets)
    const found = await mirror.over(mirrorKind.offsets(spec, view?.overlay ?? noOverlay, ctx))
    return found.map(row => Object.values(row).join(' '))
  }
  async function pauseAll() {
    mirror.change(paused)
    await clock.until(() => [...mirror.units()].length === 0)
  }
  const resume = () => mirror.change({ overlay: noOverlay })
  const storedAt = (unit = 't/0') => east.stored(group).get(unit)?.offset ?? null
  const copied = () => [...west.log(part).batches].length
  return { ...mirror, set, rows, pauseAll, resume, storedAt, copied }
}

/** Batches of two records each: offsets 0, 2, 4 and so on. */
function writeBatches(east: ReturnType<typeof askedOf>['east'], count: number): void {
  for (let n = 0; n < count; n++) east.write(part, batchOf([`${n}a`, `${n}b`]))
}

test('a dry run says where checkpoints are and would be, and changes nothing', async () => {
  const { clock, east, set, start, stop, pauseAll, storedAt } = askedOf()
  writeBatches(east, 5)
  await start()
  await clock.until(() => storedAt() === 10n)
  await pauseAll()
  const { commits } = east.counts()
  assert.deepEqual(await set('earliest', ['t/0'], true), ['t/0 10 0'])
  assert.deepEqual(await set({ offset: 4n }, ['t/0'], true), ['t/0 10 4'])
  assert.deepEqual(await set({ timeMs: 1_700_000_000_001 }, ['t/0'], true), ['t/0 10 10'])
  assert.deepEqual(await set({ timeMs: 0 }, ['t/0'], true), ['t/0 10 0'])
  assert.equal(east.counts().commits, commits)
  assert.equal(storedAt(), 10n)
  await stop()
})

test('the copy goes on where it is put, in the process that has run it before, also at an offset that it stored itself', async () => {
  const { clock, east, west, set, start, stop, pauseAll, resume, storedAt } = askedOf()
  writeBatches(east, 5)
  await start()
  await clock.until(() => storedAt() === 10n)
  await pauseAll()
  assert.deepEqual(await set({ offset: 4n }), ['t/0 10 4'])
  const { setMs, sourceId, destinationId } = checkpointFrom(east.stored(group).get('t/0')?.metadata ?? '') ?? {}
  assert.deepEqual([sourceId, destinationId], [east.topicIdOf('t'), west.topicIdOf('t')])
  assert.ok(setMs != null && setMs > 1_700_000_000_000 && setMs <= clock.wallMs())
  resume()
  await clock.until(() => west.log(part).end === 16n && storedAt() === 10n)
  // Twice the same: it is said anew, and means it anew.
  for (const end of [26n, 36n]) {
    await pauseAll()
    await set('earliest')
    resume()
    await clock.until(() => west.log(part).end === end && storedAt() === 10n)
  }
  await pauseAll()
  writeBatches(east, 5)
  assert.deepEqual(await set('latest'), ['t/0 10 20'])
  resume()
  writeBatches(east, 1)
  await clock.until(() => west.log(part).end === 38n && storedAt() === 22n)
  await stop()
})

test('latest is the last stable offset, and an offset has to lie inside of the log', async () => {
  const { east, clock, set, start, stop, pauseAll, storedAt } = askedOf()
  writeBatches(east, 10)
  await start()
  await clock.until(() => storedAt() === 20n)
  await pauseAll()
  const open = { producerId: 7n, transactional: true }
  east.write(part, batchOf(['open'], open))
  writeBatches(east, 1)
  east.trimTo(part, 6n)
  assert.deepEqual(await set('latest', ['t/0'], true), ['t/0 20 20'])
  assert.deepEqual(await set('earliest', ['t/0'], true), ['t/0 20 6'])
  for (const offset of [5n, 21n]) assert.deepEqual(await set({ offset }), ['t/0 20 request-invalid'])
  for (const offset of [6n, 20n]) assert.deepEqual(await set({ offset }, ['t/0'], true), [`t/0 20 ${offset}`])
  east.log(part).endTransaction(marker(7n, true), true)
  assert.deepEqual(await set('latest', ['t/0'], true), ['t/0 20 24'])
  assert.equal(storedAt(), 20n)
  await stop()
})

test('what runs, and what the source has not, is left as it is with a fault; the others are set', async () => {
  const { clock, east, set, start, stop, pauseAll, storedAt, change } = askedOf({ partitions: 2 })
  writeBatches(east, 2)
  await start()
  await clock.until(() => storedAt() === 4n && storedAt('t/1') === 0n)
  change({ overlay: { ...noOverlay, paused: new Map([['t', new Set([1])]]) } })
  await clock.until(() => storedAt('t/1') !== null)
  await clock.advance(2_000)
  assert.deepEqual(await set('earliest', ['t/0', 't/1', 'gone/0', 't/7']), [
    't/0 4 conflict',
    't/1 0 0',
    'gone/0 null source-missing',
    't/7 null kafka-unreachable',
  ])
  await pauseAll()
  assert.equal(storedAt(), 4n)
  await stop()
})

test('a lost checkpoint, and a destination that was made anew, go on where somebody puts them', async () => {
  const { clock, east, west, set, start, stop, pauseAll, resume, storedAt, events, seen } = askedOf()
  writeBatches(east, 5)
  await start()
  await clock.until(() => storedAt() === 10n && (seen().view?.ours?.get('t')?.parts ?? 0) === 1)
  await pauseAll()
  const kept = east.stored(group) as Map<string, unknown>
  kept.clear()
  resume()
  await clock.until(() => events.some(({ code }) => code === 'checkpoint-lost'))
  await pauseAll()
  assert.deepEqual(await set('latest'), ['t/0 null 10'])
  resume()
  writeBatches(east, 1)
  await clock.until(() => west.log(part).end === 12n && storedAt() === 12n)

  await pauseAll()
  west.recreateTopic('t')
  resume()
  await clock.until(() => events.some(({ code }) => code === 'destination-recreated'))
  await pauseAll()
  assert.deepEqual(await set('earliest'), ['t/0 12 0'])
  resume()
  await clock.until(() => west.log(part).end === 12n && storedAt() === 12n)
  await stop()
})

test('with gaps: stop a source topic that was made anew is copied from where somebody puts it', async () => {
  const { clock, east, west, set, start, stop, pauseAll, resume, storedAt, events } = askedOf({
    spec: { gaps: 'stop' },
  })
  writeBatches(east, 5)
  await start()
  await clock.until(() => storedAt() === 10n)
  await pauseAll()
  east.recreateTopic('t')
  writeBatches(east, 3)
  resume()
  await clock.until(() => events.some(({ code }) => code === 'topic-recreated'))
  await pauseAll()
  assert.deepEqual(await set({ offset: 2n }), ['t/0 10 2'])
  resume()
  await clock.until(() => west.log(part).end === 14n && storedAt() === 6n)
  await stop()
})

test('before the first starts are stored only all partitions at once are set, unless they begin at the earliest anyway', async () => {
  const { clock, east, set, begin, stop, seen } = askedOf({ partitions: 2, spec: { start: 'latest' } })
  const save = east.checkpoints.save.bind(east.checkpoints)
  const gate = Promise.withResolvers<void>()
  east.checkpoints.save = async (...asked) => {
    await gate.promise
    return await save(...asked)
  }
  begin()
  await clock.until(() => seen().view !== null)
  await assert.rejects(set('earliest', ['t/0']), { code: 'conflict' })
  gate.resolve()
  await stop()
})

test('offsets of all partitions are told by a few requests', async () => {
  const { clock, east, rows, start, stop, pauseAll, storedAt } = askedOf({
    partitions: 300,
    spec: { topics: { include: ['t'], refreshMs: 600_000 } },
  })
  writeBatches(east, 3)
  await start()
  await clock.until(() => storedAt() === 6n && storedAt('t/299') !== null)
  await pauseAll()
  // The look that follows a change is over.
  await clock.advance(3_000)
  east.write(part, batchOf(['open'], { producerId: 7n, transactional: true }))
  east.trimTo(part, 2n)
  const asked = () => east.brokers.asked('ListOffsets') + east.brokers.asked('OffsetFetch')
  const before = asked()
  const found = await rows()
  assert.equal(asked() - before, 4)
  assert.equal(found.length, 300)
  assert.deepEqual([found[0], found[2]], ['t 0 6 2 6 7', 't 2 0 0 0 0'])
  await stop()
})
