import { readFileSync } from 'node:fs'

/** CPU seconds (user + system) and the highest resident set of a process, as Linux counts them. */
export type Usage = { cpuSeconds: number; peakRssMib: number }

/** Kernel ticks a second; the value of every Linux that Node runs on. */
const ticksPerSecond = 100

/** Null when the process is gone. */
export function usageOf(pid: number): Usage | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(') ') + 2).split(' ')
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const peak = /VmHWM:\s+(\d+)/.exec(status)?.[1]
    return {
      cpuSeconds: (Number(fields[11]) + Number(fields[12])) / ticksPerSecond,
      peakRssMib: Number(peak ?? 0) / 1024,
    }
  } catch {
    return null
  }
}
