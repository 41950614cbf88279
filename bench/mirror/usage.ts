import { readFileSync } from 'node:fs'

/** CPU seconds (user + system) and the resident set of a process, now and at its highest, as Linux counts them. */
export type Usage = { cpuSeconds: number; rssMib: number; peakRssMib: number }

/** Kernel ticks a second; the value of every Linux that Node runs on. */
const ticksPerSecond = 100

/** Null when the process is gone. */
export function usageOf(pid: number): Usage | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(') ') + 2).split(' ')
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const mibOf = (line: RegExp) => Number(line.exec(status)?.[1] ?? 0) / 1024
    return {
      cpuSeconds: (Number(fields[11]) + Number(fields[12])) / ticksPerSecond,
      rssMib: mibOf(/VmRSS:\s+(\d+)/),
      peakRssMib: mibOf(/VmHWM:\s+(\d+)/),
    }
  } catch {
    return null
  }
}
