import type { RunningTask } from '../../test/live/fleet/tasks.ts'
import { usageOf } from '../mirror/usage.ts'

/** Resident memory of one process over its life. */
export type Memory = {
  group: 'worker' | 'controller'
  id: string
  seconds: number
  firstMib: number
  lastMib: number
  peakMib: number
  /** Of the line through its samples after the first minute; null while there are too few. */
  mibPerMinute: number | null
}

type Watched = Pick<RunningTask, 'id' | 'pid'> & Pick<Memory, 'group'>
type Sample = { atMs: number; mib: number }

const eachMs = 2_000
/** Until then a process compiles and fills its buffers. */
const warmMs = 60_000
const samplesMin = 30

/** Looks at each process of the list every two seconds; ones that come later are seen when they are there. */
export function watchMemory(tasks: () => Iterable<Watched>): { found(): Memory[]; stop(): void } {
  const seen = new Map<string, { group: Memory['group']; samples: Sample[]; peakMib: number }>()
  const look = () => {
    for (const { group, id, pid } of tasks()) {
      const usage = usageOf(pid)
      if (usage === null || usage.rssMib === 0) continue
      const of = seen.get(id) ?? { group, samples: [], peakMib: 0 }
      seen.set(id, of)
      of.samples.push({ atMs: performance.now(), mib: usage.rssMib })
      of.peakMib = usage.peakRssMib
    }
  }
  look()
  const timer = setInterval(look, eachMs)
  return {
    found: () => [...seen].map(([id, { group, samples, peakMib }]) => ({ group, id, ...memoryOf(samples, peakMib) })),
    stop: () => clearInterval(timer),
  }
}

function memoryOf(samples: readonly Sample[], peakMib: number): Omit<Memory, 'id' | 'group'> {
  const [first, last] = [samples[0], samples.at(-1)]
  const fromMs = first?.atMs ?? 0
  return {
    seconds: Math.round(((last?.atMs ?? 0) - fromMs) / 1_000),
    firstMib: Math.round(first?.mib ?? 0),
    lastMib: Math.round(last?.mib ?? 0),
    peakMib: Math.round(peakMib),
    mibPerMinute: slope(samples.filter(({ atMs }) => atMs >= fromMs + warmMs)),
  }
}

/** Least squares. */
function slope(samples: readonly Sample[]): number | null {
  if (samples.length < samplesMin) return null
  const mean = (of: (sample: Sample) => number) => samples.reduce((sum, one) => sum + of(one), 0) / samples.length
  const [atMs, mib] = [mean(one => one.atMs), mean(one => one.mib)]
  const [over, under] = [mean(one => (one.atMs - atMs) * (one.mib - mib)), mean(one => (one.atMs - atMs) ** 2)]
  return Math.round((over / under) * 60_000 * 100) / 100
}
