import { type Fault, faultOf } from '../engine/errors.ts'
import type { FlowEvent } from '../engine/flow/event.ts'
import type { FlowReport, TopicReport } from '../engine/flow/report.ts'
import { count, progressLine } from '../engine/mirror/decide/progressLine.ts'
import { showSafe } from '../engine/process/pretty.ts'
import { bytesCell, counted } from './cells.ts'
import { tableOf } from './table.ts'

export type Ending = { ok: boolean; reason: 'until-end' | 'signal' | 'error'; fault: Fault | null }

/** What the command shows (MIRROR §3.5). */
export type Output = {
  progress(flows: readonly Reported[], at: { wallMs: number; nowMs: number }): void
  /** `flow` null: of the whole process. */
  event(flow: string | null, event: FlowEvent, wallMs: number): void
  /** No flow: it did not come to run any. */
  end(flows: readonly Reported[], ending: Ending): void
}
export type Reported = { flow: string; report: FlowReport }

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
    progress(flows, at) {
      for (const { flow, report } of flows) {
        // A reader that does not keep up misses how it was on the way; what would wait for it has no bound.
        if (stdout.writableNeedDrain) return
        const { topics, partitions, notRunning, lagRecords, lagSeconds, partitionsUnknown } = report
        const { records, bytes, gapRecords, skippedRecords } = report
        const { recordsPerSecond, bytesPerSecond } = rates(flow, report, at.nowMs)
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
      }
    },
    event: (flow, event, wallMs) =>
      void line({ type: 'event', at: new Date(wallMs).toISOString(), ...(flow === null ? {} : { flow }), ...event }),
    end(flows, { ok, reason, fault }) {
      const none = [{ flow: null, report: null }]
      for (const { flow, report } of flows.length > 0 ? flows : none)
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
    progress(flows, at) {
      if (!stderr.isTTY) return
      const lines = flows.map(({ flow, report }) => progressLine(flow, report, rates(flow, report, at.nowMs)))
      stderr.write(`${eraseLine}${lines.join(' || ').slice(0, (stderr.columns ?? 80) - 1)}`)
    },
    event() {},
    end(flows, { fault }) {
      if (stderr.isTTY) stderr.write(eraseLine)
      if (fault) stderr.write(`${faultLines(fault)}\n`)
      for (const { flow, report } of flows) {
        if (flows.length > 1) stdout.write(`${flow}\n`)
        stdout.write(table(report.topics))
      }
    },
  }
}

/** What people read of an error: what was found, and what to do. */
export function faultLines(fault: Fault): string {
  return showSafe(`${fault.code}: ${fault.message}${fault.hint ? `\n  ${fault.hint}` : ''}`)
}

export function errorLines(error: unknown): string {
  return faultLines(faultOf(error, 'kafka-protocol'))
}

function rateMeter(): (
  flow: string,
  report: FlowReport,
  nowMs: number,
) => {
  recordsPerSecond: number
  bytesPerSecond: number
} {
  const last = new Map<string, { records: number; bytes: number; nowMs: number }>()
  return (flow, report, nowMs) => {
    const { records, bytes } = { records: report.records ?? 0, bytes: report.bytes ?? 0 }
    const before = last.get(flow)
    const seconds = before ? Math.max(0.001, (nowMs - before.nowMs) / 1000) : 1
    last.set(flow, { records, bytes, nowMs })
    // Sums are of the topics that are there: less than before means that one has left.
    return {
      recordsPerSecond: Math.max(0, records - (before?.records ?? 0)) / seconds,
      bytesPerSecond: Math.max(0, bytes - (before?.bytes ?? 0)) / seconds,
    }
  }
}

const titles = ['TOPIC', 'DESTINATION', 'PARTITIONS', 'RECORDS', 'BYTES', 'LAG', 'GAP', 'SKIPPED', 'STATE']
const numbers = new Set(titles.slice(2, 8))

function table(topics: TopicReport[]): string {
  const rows = topics.map(t => [
    t.topic,
    t.destination,
    count(t.partitions),
    counted(t.records),
    bytesCell(t.bytes),
    t.lagRecords === null ? '-' : count(t.lagRecords),
    counted(t.gapRecords),
    counted(t.skippedRecords),
    t.state,
  ])
  return tableOf(titles, rows, numbers)
}
