import type { FlowReport } from '../../flow/report.ts'

export type Rates = { recordsPerSecond: number; bytesPerSecond: number }

/** What a terminal shows of a flow in one line (MIRROR §3.5); the caller cuts it to the width. */
export function progressLine(flow: string, report: FlowReport, rates: Rates): string {
  const topics = `${count(report.topics.length)} topics ${count(report.partitions)} partitions`
  const seconds = report.lagSeconds === null || report.lagRecords === 0 ? '' : ` (${shownSeconds(report.lagSeconds)})`
  const lag = report.lagRecords === null ? 'lag unknown' : `lag ${count(report.lagRecords)}${seconds}`
  return [
    `${flow}: ${topics}`,
    `${count(Math.round(rates.recordsPerSecond))} rec/s`,
    `${shownBytes(rates.bytesPerSecond)}/s`,
    lag,
    shownBytes(report.bytes ?? 0),
    `${count(report.gapRecords ?? 0)} gaps`,
    `${count(report.notRunning)} not running`,
  ].join(' | ')
}

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']

/** Three digits that count: `999 B`, `1.00 KiB`, `10.0 KiB`, `102 KiB`. */
export function shownBytes(bytes: number): string {
  let value = bytes
  let unit = 0
  for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024
  if (unit === 0) return `${Math.round(value)} B`
  const digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0
  return `${value.toFixed(digits)} ${units[unit]}`
}

/** The two largest units: `25 s`, `1 min 1 s`, `1 h 2 min`. */
export function shownSeconds(seconds: number): string {
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole} s`
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`
}

/** Thousands apart, the same on every machine. */
export function count(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',')
}
