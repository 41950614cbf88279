import type { Run } from './measure.ts'

export type Summary = {
  topic: string
  contestant: string
  rounds: number
  mibPerCpuSecond: number
  mibPerSecond: number
  peakRssMib: number
  /** Bytes per CPU-second against the first peer of the same topic; null for the peer. */
  ratio: number | null
}

const mib = 1024 * 1024

export function summarize(runs: Run[], bytesOf: ReadonlyMap<string, number>, ours: string): Summary[] {
  const out: Summary[] = []
  for (const topic of new Set(runs.map(run => run.topic))) {
    const moved = (run: Run) => ((bytesOf.get(topic) ?? 0) * run.share) / mib
    const of = (name: string) => runs.filter(run => run.topic === topic && run.contestant === name)
    const names = [...new Set(runs.filter(run => run.topic === topic).map(run => run.contestant))]
    const perCpu = (name: string) => median(of(name).map(run => moved(run) / Math.max(run.cpuSeconds, 0.01)))
    const peer = names.find(name => !name.startsWith(ours))
    for (const contestant of names) {
      out.push({
        topic,
        contestant,
        rounds: of(contestant).length,
        mibPerCpuSecond: perCpu(contestant),
        mibPerSecond: median(of(contestant).map(run => moved(run) / Math.max(run.wallSeconds, 0.001))),
        peakRssMib: Math.max(...of(contestant).map(run => run.peakRssMib)),
        ratio: peer && contestant.startsWith(ours) ? perCpu(contestant) / perCpu(peer) : null,
      })
    }
  }
  return out
}

export function tableOf(rows: Summary[]): string {
  const lines = rows.map(row => [
    row.topic,
    row.contestant,
    row.mibPerCpuSecond.toFixed(0),
    row.ratio === null ? '' : `${row.ratio.toFixed(1)} ×`,
    row.mibPerSecond.toFixed(0),
    row.peakRssMib.toFixed(0),
    String(row.rounds),
  ])
  const all = [['TOPIC', 'WHO', 'MiB/CPU-s', 'RATIO', 'MiB/s', 'RSS MiB', 'ROUNDS'], ...lines]
  const widths = (all[0] ?? []).map((_, i) => Math.max(...all.map(line => (line[i] ?? '').length)))
  return all
    .map(line =>
      line.map((cell, i) => (i < 2 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  '),
    )
    .join('\n')
}

function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}
