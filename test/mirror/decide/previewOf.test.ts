import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noOverlay } from '../../../engine/flow/overlay.ts'
import { planTopics } from '../../../engine/mirror/decide/planTopics.ts'
import { previewWith } from '../../../engine/mirror/decide/previewOf.ts'
import { mirrorKind } from '../../../engine/mirror/kind.ts'
import { reportOf } from '../../../engine/mirror/report.ts'
import { ours, specOf, type ViewOf, viewOf } from './viewOf.ts'

const two = (topic: string) => ({ topic, partitions: 2 })
const rights = { rightsMissing: [], unread: new Set<string>() }

test('a preview has what people have put in and out before the rules, what is there, and what is in the way', () => {
  const spec = specOf({
    topics: { include: ['t.*'], names: ['later'] },
    loopGuard: 'off',
    isolation: 'read_uncommitted',
  })
  const seen = viewOf({
    source: [two('t1'), two('t2'), two('far')],
    destination: [{ topic: 't1', partitions: 1 }],
    refused: { t2: 'two topics would get this name' },
    ours: null,
  })
  const topics = new Map([
    ['far', 'in' as const],
    ['t3', 'out' as const],
  ])
  const { topics: rows, units, warnings } = previewWith(spec, { ...seen, ...rights, overlay: { ...noOverlay, topics } })
  assert.deepEqual(
    rows.map(row => [row.topic, row.selected, row.rule, row.destination, row.there, row.fault?.code ?? null]),
    [
      ['far', true, 'overlay', 'far', null, null],
      ['t1', true, 'include', 't1', 1, null],
      ['t2', true, 'include', 't2', null, 'config-invalid'],
    ],
  )
  assert.equal(units, 4)
  assert.deepEqual(
    warnings.map(({ code }) => code),
    ['source-missing', 'loop-guard-off', 'reads-uncommitted'],
  )
})

test('a status warns of a flow that reads what was aborted, or that no loop guard watches; others warn of nothing', () => {
  const warned = (more: Record<string, unknown>) =>
    mirrorKind.report(specOf(more), null, null, { nowMs: 0, wallMs: 0 }).warnings?.map(({ code }) => code) ?? null
  assert.equal(warned({}), null)
  assert.deepEqual(warned({ loopGuard: 'off' }), ['loop-guard-off'])
  assert.deepEqual(warned({ isolation: 'read_uncommitted' }), ['reads-uncommitted'])
})

test('without a worker a report has the states and the lag that others tell of; what is not ready is not told by them', () => {
  const of: ViewOf = {
    source: [two('t'), two('back')],
    destination: [two('t'), two('back')],
    ours: [ours('t', { parts: 2 }), ours('back', { parts: 2 })],
    refused: { back: 'not this name' },
    offsets: ['t', 'back'].flatMap(topic => [0, 1].map(partition => ({ topic, partition }))),
  }
  const view = viewOf(of)
  const told = new Map([
    ['t/0', { bytesPerSecond: 1, lagRecords: 7, state: 'running' as const }],
    ['t/1', { bytesPerSecond: null, lagRecords: null, state: 'unavailable' as const }],
    ['back/0', { bytesPerSecond: 1, lagRecords: 100, state: 'running' as const }],
  ])
  const report = reportOf(planTopics(specOf(), view), null, {
    ...{ nowMs: view.nowMs, wallMs: view.wallMs, overlay: noOverlay },
    seen: unit => told.get(unit) ?? null,
  })
  assert.deepEqual(
    report.topics.map(({ topic, state, lagRecords }) => [topic, state, lagRecords]),
    [
      ['back', 'refused', null],
      ['t', 'unavailable', 7],
    ],
  )
  assert.deepEqual([report.lagRecords, report.notRunning, report.partitionsUnknown], [7, 3, 3])
  for (const one of [report, ...report.topics])
    assert.deepEqual([one.records, one.bytes, one.gapRecords, one.skippedRecords], [null, null, null, null])
})

test('a checkpoint of the topic that was there before says nothing of a skip in the one that is there now', () => {
  const offsets = [
    { topic: 't', partition: 0 },
    { topic: 't', partition: 1, sourceId: 'the-old-id' },
    { topic: 'gone', partition: 0 },
  ]
  const view = { ...viewOf({ source: [two('t')], offsets }), ...rights }
  const at = (unit: string) => mirrorKind.checkpoint?.(view, unit) ?? null
  assert.deepEqual([at('t/0'), at('t/1'), at('gone/0'), at('t/2')], [10n, null, 10n, null])
})
