import assert from 'node:assert/strict'
import { test } from 'node:test'
import { progressLine, shownBytes, shownSeconds } from '../../../engine/mirror/decide/progressLine.ts'

test('V-7: bytes and times are shown with the digits that count', () => {
  const bytes = [999, 1024, 10240, 104857, 64277709, 10093173145]
  assert.deepEqual(bytes.map(shownBytes), ['999 B', '1.00 KiB', '10.0 KiB', '102 KiB', '61.3 MiB', '9.40 GiB'])
  assert.deepEqual([25, 61, 3720].map(shownSeconds), ['25 s', '1 min 1 s', '1 h 2 min'])
})

test('a flow in one line', () => {
  const topic = {
    topic: 'clicks.a',
    destination: 'clicks.a',
    partitions: 12,
    records: 1,
    bytes: 1,
    lagRecords: 1,
    gapRecords: 0,
    skippedRecords: 0,
    state: 'running' as const,
  }
  const report = {
    topics: Array(12).fill(topic),
    partitions: 144,
    notRunning: 2,
    partitionsUnknown: 0,
    lagRecords: 1_204_551,
    lagSeconds: 25,
    records: 0,
    bytes: 10_093_173_145,
    gapRecords: 0,
    skippedRecords: 0,
  }
  assert.equal(
    progressLine('clicks', report, { recordsPerSecond: 48_211, bytesPerSecond: 64_277_709 }),
    'clicks: 12 topics 144 partitions | 48,211 rec/s | 61.3 MiB/s | lag 1,204,551 (25 s) | 9.40 GiB | 0 gaps | 2 not running',
  )
  const unknown = progressLine(
    'f',
    { ...report, lagRecords: null, lagSeconds: null },
    {
      recordsPerSecond: 0,
      bytesPerSecond: 0,
    },
  )
  assert.match(unknown, /\| lag unknown \|/)
})
