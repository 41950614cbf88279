import assert from 'node:assert/strict'
import { test } from 'node:test'
import { configsLookMs } from '../../engine/limits.ts'
import { mirrorOf } from './mirrorOf.ts'

test('MIRROR 22: settings are looked at each minute: 20 rounds of the same send nothing, and what the source unsets is unset once', async () => {
  const mirror = mirrorOf({ brokers: 1, spec: { topics: { include: ['t'], refreshMs: configsLookMs } } })
  const atEast = mirror.east.topic('t', 1, { 'retention.ms': '7200000', 'min.insync.replicas': '1' })
  const atWest = mirror.west.topic('t', 1, { 'segment.bytes': '33554432' })
  await mirror.start()
  await mirror.clock.until(() => atWest.configs.has('retention.ms'))
  const synced = { 'segment.bytes': '33554432', 'retention.ms': '7200000' }
  assert.deepEqual(Object.fromEntries(atWest.configs), synced)

  // The provenance topic, and these settings.
  const adminWrites = 2
  assert.equal(mirror.west.counts().adminWrites, adminWrites)
  await mirror.clock.advance(20 * configsLookMs)
  assert.equal(mirror.west.counts().adminWrites, adminWrites)
  assert.deepEqual(Object.fromEntries(atWest.configs), synced)

  atEast.configs.delete('retention.ms')
  await mirror.clock.advance(3 * configsLookMs)
  assert.deepEqual(Object.fromEntries(atWest.configs), { 'segment.bytes': '33554432' })
  assert.equal(mirror.west.counts().adminWrites, adminWrites + 1)
  await mirror.stop()
})

test('what the source sets as the destination has it by default is set there all the same, once', async () => {
  const mirror = mirrorOf({ brokers: 1, spec: { topics: { include: ['t'], refreshMs: 1_000 } } })
  mirror.east.topic('t', 1, { 'segment.ms': '604800000' })
  const atWest = mirror.west.topic('t', 1)
  await mirror.start()
  await mirror.clock.until(() => atWest.configs.get('segment.ms') === '604800000')
  const { adminWrites } = mirror.west.counts()
  await mirror.clock.advance(20 * configsLookMs)
  assert.equal(mirror.west.counts().adminWrites, adminWrites)
  await mirror.stop()
})
