import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outputTo } from '../../cli/output.ts'
import type { FlowReport } from '../../engine/flow/report.ts'

const report: FlowReport = {
  topics: [
    {
      topic: 'orders',
      destination: 'orders',
      partitions: 4,
      records: 12_000,
      bytes: 876_064,
      lagRecords: 0,
      gapRecords: 150,
      skippedRecords: 5,
      state: 'running',
    },
    {
      topic: 'x',
      destination: 'x',
      partitions: 1,
      records: 0,
      bytes: 0,
      lagRecords: null,
      gapRecords: 0,
      skippedRecords: 0,
      state: 'waiting',
    },
  ],
  partitions: 5,
  notRunning: 1,
  partitionsUnknown: 1,
  lagRecords: 0,
  lagSeconds: null,
  records: 12_000,
  bytes: 876_064,
  gapRecords: 150,
  skippedRecords: 5,
}
const flows = [{ flow: 'f', report }]

function collected(more: { isTTY?: boolean; columns?: number; writableNeedDrain?: boolean } = {}) {
  const texts: string[] = []
  return { texts, stream: { write: (text: string) => texts.push(text), ...more } }
}

test('JSON lines: what is not known is absent, large offsets are strings, the summary is last', () => {
  const stdout = collected()
  const stderr = collected()
  const output = outputTo(stdout.stream, stderr.stream, true)
  output.progress(flows, { wallMs: 0, nowMs: 1_000 })
  output.progress([{ flow: 'f', report: { ...report, records: 13_000 } }], { wallMs: 2_000, nowMs: 3_000 })
  output.event('f', { code: 'source-gap', message: 'm', topic: 'orders', partition: 0, from: 5n, to: 2n ** 60n }, 0)
  output.end(flows, { ok: true, reason: 'until-end', fault: null })
  const lines = stdout.texts.map(text => JSON.parse(text))
  assert.deepEqual(
    lines.map(line => line.type),
    ['progress', 'progress', 'event', 'summary'],
  )
  assert.equal(lines[0].at, '1970-01-01T00:00:00.000Z')
  assert.equal('lagSeconds' in lines[0], false)
  assert.equal(lines[1].recordsPerSecond, 500)
  assert.deepEqual([lines[2].from, lines[2].to], [5, '1152921504606846976'])
  assert.deepEqual([lines[3].ok, lines[3].topics.length, 'error' in lines[3]], [true, 2, false])
  assert.equal('lagRecords' in lines[3].topics[1], false)
  assert.deepEqual(
    lines.map(line => line.flow),
    ['f', 'f', 'f', 'f'],
  )
  assert.deepEqual(stderr.texts, [])
})

test('JSON lines of two flows: a line and a summary each, rates are of each alone, and a process has no flow', () => {
  const stdout = collected()
  const output = outputTo(stdout.stream, collected().stream, true)
  const two = (records: number) => [...flows, { flow: 'g', report: { ...report, records, topics: [] } }]
  output.progress(two(100), { wallMs: 0, nowMs: 1_000 })
  output.progress(two(300), { wallMs: 0, nowMs: 2_000 })
  output.event(null, { code: 'config-invalid', message: 'm' }, 0)
  output.end(two(300), { ok: true, reason: 'signal', fault: null })
  output.end([], { ok: false, reason: 'error', fault: { code: 'not-found', message: 'm', hint: null } })
  const lines = stdout.texts.map(text => JSON.parse(text))
  assert.deepEqual(
    lines.map(line => [line.type, line.flow, line.recordsPerSecond ?? line.topics?.length]),
    [
      ['progress', 'f', 12_000],
      ['progress', 'g', 100],
      ['progress', 'f', 0],
      ['progress', 'g', 200],
      ['event', undefined, undefined],
      ['summary', 'f', 2],
      ['summary', 'g', 0],
      ['summary', undefined, 0],
    ],
  )
})

test('at a terminal two flows share one line, and each has a table under its name', () => {
  const stdout = collected({ isTTY: true })
  const stderr = collected({ isTTY: true, columns: 400 })
  const output = outputTo(stdout.stream, stderr.stream, false)
  const two = ['f', 'g'].map(flow => ({ flow, report }))
  output.progress(two, { wallMs: 0, nowMs: 1_000 })
  assert.equal(stderr.texts.length, 1)
  assert.match(stderr.texts[0]?.replace('\r\u001b[K', '') ?? '', /^f\b[^\n]* \|\| g\b[^\n]*$/)
  output.end(two, { ok: true, reason: 'signal', fault: null })
  const lines = stdout.texts.join('').split('\n')
  assert.deepEqual(
    lines.map(line => line.split(' ')[0]),
    ['f', 'TOPIC', 'orders', 'x', 'g', 'TOPIC', 'orders', 'x', ''],
  )
})

test('at a terminal: one line on stderr, cut to the width, and a table on stdout at the end', () => {
  const stdout = collected({ isTTY: true })
  const stderr = collected({ isTTY: true, columns: 40 })
  const output = outputTo(stdout.stream, stderr.stream, false)
  output.progress(flows, { wallMs: 0, nowMs: 1_000 })
  assert.equal(stdout.texts.length, 0)
  assert.equal(stderr.texts[0]?.length, '\r\u001b[K'.length + 39)
  output.end(flows, { ok: false, reason: 'until-end', fault: null })
  assert.deepEqual(stdout.texts.join('').split('\n'), [
    'TOPIC   DESTINATION  PARTITIONS  RECORDS    BYTES  LAG  GAP  SKIPPED  STATE',
    'orders  orders                4   12,000  856 KiB    0  150        5  running',
    'x       x                     1        0      0 B    -    0        0  waiting',
    '',
  ])
})

test('an error is said on stderr with its hint, also where stderr is no terminal', () => {
  const stderr = collected()
  const fault = { code: 'not-found', message: 'no topic matches', hint: 'look at the names' } as const
  outputTo(collected().stream, stderr.stream, false).end([], { ok: false, reason: 'error', fault })
  assert.deepEqual(stderr.texts, ['not-found: no topic matches\n  look at the names\n'])
})

test('a reader that does not keep up misses progress, but no event and not the summary', () => {
  const stdout = collected({ writableNeedDrain: true })
  const output = outputTo(stdout.stream, collected().stream, true)
  output.progress(flows, { wallMs: 0, nowMs: 1_000 })
  output.event('f', { code: 'source-gap', message: 'm', from: 5n, to: 6n }, 0)
  output.end(flows, { ok: true, reason: 'until-end', fault: null })
  assert.deepEqual(
    stdout.texts.map(text => JSON.parse(text).type),
    ['event', 'summary'],
  )
})
