import { type Fault, faultOf } from '../engine/errors.ts'
import { count, progressLine, shownBytes } from '../engine/mirror/decide/progressLine.ts'
import type { MirrorEvent } from '../engine/mirror/events.ts'
import type { CopyReport, TopicReport } from '../engine/mirror/report.ts'
import { showSafe } from '../engine/process/pretty.ts'
import { tableOf } from './table.ts'

export type Ending = { ok: boolean; reason: 'until-end' | 'signal' | 'error'; fault: Fault | null }

/** What the command shows (MIRROR §3.5). */
export type Output = {
  progress(flow: string, report: CopyReport, at: { wallMs: number; nowMs: number }): void
  event(event: MirrorEvent, wallMs: number): void
  end(flow: string | null, report: CopyReport | null, ending: Ending): void
}

type Stream = { write(text: string): unknown; isTTY?: boolean; columns?: number; writableNeedDrain?: boolean }

/** Erases the progress line, so that what is written next begins a line. */
export const eraseLine = '\r\u001b[K'

export function outputTo(stdout: Stream, stderr: Stream, json: boolean): Output {
  return json ? jsonLines(stdout) : terminal(stdout, stderr)
}

/** JSON lines and nothing else. An offset above 2⁵³ is a decimal string. What is not known is absent. */
function jsonLines(stdout: Stream): Output {
  const rates = rateMeter()
  const line = (fields: object) => stdout.write(`${JSON.stringify(fields, plain)}\n`)
  return {
    progress(flow, report, at) {
      // A reader that does not keep up misses how it was on the way; what would wait for it has no bound.
      if (stdout.writableNeedDrain) return
      const { topics, partitions, notRunning, lagRecords, lagSeconds, partitionsUnknown } = report
      const { records, bytes, gapRecords, skippedRecords } = report
      const { recordsPerSecond, bytesPerSecond } = rates(report, at.nowMs)
      line({
        type: 'progress',
        at: new Date(at.wallMs).toISOString(),
        flow,
        topics: topics.length,
        partitions,
        notRunning,
        recordsPerSecond: Math.round(recordsPerSecond),
        bytesPerSecond: Math.round(bytesPerSecond),
        lagRecords,
        lagSeconds,
        partitionsUnknown,
        records,
        bytes,
        gapRecords,
        skippedRecords,
      })
    },
    event: (event, wallMs) => void line({ type: 'event', at: new Date(wallMs).toISOString(), ...event }),
    end(flow, report, { ok, reason, fault }) {
      line({ type: 'summary', flow, ok, reason, error: fault, topics: report?.topics ?? [] })
    },
  }
}

function plain(_name: string, value: unknown): unknown {
  if (value === null) return undefined
  if (typeof value !== 'bigint') return value
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : String(value)
}

/** One line on stderr, rewritten each second; a table on stdout at the end. Events are log lines. */
function terminal(stdout: Stream, stderr: Stream): Output {
  const rates = rateMeter()
  return {
    progress(flow, report, at) {
      const line = progressLine(flow, report, rates(report, at.nowMs))
      if (stderr.isTTY) stderr.write(`${eraseLine}${line.slice(0, (stderr.columns ?? 80) - 1)}`)
    },
    event() {},
    end(_flow, report, { fault }) {
      if (stderr.isTTY) stderr.write(eraseLine)
      if (fault) stderr.write(`${faultLines(fault)}\n`)
      if (report) stdout.write(table(report.topics))
    },
  }
}

/** What people read of an error: what was found, and what to do. */
function faultLines(fault: Fault): string {
  return showSafe(`${fault.code}: ${fault.message}${fault.hint ? `\n  ${fault.hint}` : ''}`)
}

export function errorLines(error: unknown): string {
  return faultLines(faultOf(error, 'kafka-protocol'))
}

function rateMeter(): (
  report: CopyReport,
  nowMs: number,
) => {
  recordsPerSecond: number
  bytesPerSecond: number
} {
  let before = { records: 0, bytes: 0, nowMs: 0, known: false }
  return ({ records, bytes }, nowMs) => {
    const seconds = before.known ? Math.max(0.001, (nowMs - before.nowMs) / 1000) : 1
    const rates = {
      recordsPerSecond: (records - before.records) / seconds,
      bytesPerSecond: (bytes - before.bytes) / seconds,
    }
    before = { records, bytes, nowMs, known: true }
    return rates
  }
}

const titles = ['TOPIC', 'DESTINATION', 'PARTITIONS', 'RECORDS', 'BYTES', 'LAG', 'GAP', 'SKIPPED', 'STATE']
const numbers = new Set(titles.slice(2, 8))

function table(topics: TopicReport[]): string {
  const rows = topics.map(t => [
    t.topic,
    t.destination,
    count(t.partitions),
    count(t.records),
    shownBytes(t.bytes),
    t.lagRecords === null ? '-' : count(t.lagRecords),
    count(t.gapRecords),
    count(t.skippedRecords),
    t.state,
  ])
  return tableOf(titles, rows, numbers)
}
