import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outOfRange, type StartFacts, startPosition } from '../../engine/flow/position.ts'

const facts: StartFacts = {
  checkpoint: null,
  topicId: 'id',
  partition: 3,
  parts: null,
  found: 'first',
  logStart: 10n,
  lastStable: 480n,
  highWatermark: 500n,
  atTime: null,
  isolation: 'read_committed',
  start: 'earliest',
  gaps: 'continue',
}
const at = (offset: bigint, topicId = 'id') => ({ ...facts, checkpoint: { offset, topicId } })
const here = (offset: bigint) => ({ at: offset, event: null })

test('MIRROR 18: the start table holds (V-4)', () => {
  assert.deepEqual(startPosition(at(42n)), here(42n))
  assert.deepEqual(startPosition({ ...at(0n), logStart: 0n }), here(0n))
  assert.deepEqual(startPosition(at(0n)), { at: 10n, event: { code: 'source-gap', from: 0n, to: 10n } })
  assert.deepEqual(startPosition(at(500n)), here(500n))
  assert.deepEqual(startPosition(at(501n)), {
    at: 500n,
    event: { code: 'source-truncated', from: 500n, to: 501n },
  })
  assert.deepEqual(startPosition(at(42n, 'other')), {
    at: 10n,
    event: { code: 'topic-recreated', oldId: 'other', newId: 'id', checkpoint: 42n },
  })
  assert.deepEqual(startPosition({ ...facts, start: 'earliest' }), here(10n))
  assert.deepEqual(startPosition({ ...facts, start: 'latest' }), here(480n))
  assert.deepEqual(startPosition({ ...facts, start: { timeMs: 5 }, atTime: 77n }), here(77n))
  assert.deepEqual(startPosition({ ...facts, start: { timeMs: 5 }, atTime: null }), here(480n))
  assert.deepEqual(startPosition({ ...facts, found: 'later', start: 'latest' }), here(10n))
  assert.deepEqual(startPosition({ ...facts, parts: 4 }), { error: 'checkpoint-lost' })
  assert.deepEqual(startPosition({ ...facts, parts: 3, start: 'latest' }), here(10n))
  assert.deepEqual(startPosition(at(-1n)), here(10n))
})

test('with gaps: stop each of the three rows is the code of an error, and a lost checkpoint always is', () => {
  const stop = { gaps: 'stop' } as const
  assert.deepEqual(startPosition({ ...at(0n), ...stop }), { error: 'source-gap' })
  assert.deepEqual(startPosition({ ...at(501n), ...stop }), { error: 'source-truncated' })
  assert.deepEqual(startPosition({ ...at(42n, 'other'), ...stop }), { error: 'topic-recreated' })
  assert.deepEqual(startPosition({ ...facts, ...stop, parts: 4 }), { error: 'checkpoint-lost' })
})

test('an offset that nobody could tell, or a negative one, means that it is looked up again', () => {
  assert.deepEqual(startPosition({ ...at(42n), logStart: null }), { unavailable: true })
  assert.deepEqual(startPosition({ ...facts, lastStable: -1n }), { unavailable: true })
  assert.deepEqual(startPosition({ ...facts, highWatermark: -2n }), { unavailable: true })
})

test('an id that is not known matches any, and read_uncommitted starts at the high watermark', () => {
  assert.deepEqual(startPosition(at(42n, '')), here(42n))
  assert.deepEqual(startPosition({ ...at(42n, 'other'), topicId: '' }), here(42n))
  assert.deepEqual(startPosition({ ...facts, isolation: 'read_uncommitted', start: 'latest' }), here(500n))
})

test('a running position outside the log goes to its nearest end, and behind a cut log to where it parted', () => {
  const log = { logStart: 10n, highWatermark: 500n, diverged: null, gaps: 'continue' } as const
  assert.deepEqual(outOfRange({ ...log, position: 4n }), { at: 10n, event: { code: 'source-gap', from: 4n, to: 10n } })
  assert.deepEqual(outOfRange({ ...log, position: 501n }), {
    at: 500n,
    event: { code: 'source-truncated', from: 500n, to: 501n },
  })
  assert.deepEqual(outOfRange({ ...log, position: 300n }), here(300n))
  assert.deepEqual(outOfRange({ ...log, position: 300n, diverged: 250n }), {
    at: 250n,
    event: { code: 'source-truncated', from: 250n, to: 300n },
  })
  assert.deepEqual(outOfRange({ ...log, position: 300n, diverged: 5n }), {
    at: 10n,
    event: { code: 'source-truncated', from: 5n, to: 300n },
  })
  assert.deepEqual(outOfRange({ ...log, position: 300n, diverged: 250n, gaps: 'stop' }), { error: 'source-truncated' })
})
