import { setTimeout as delay } from 'node:timers/promises'
import type { Faults } from '../../rig/proxy/faults.ts'
import type { FaultProxy } from '../../rig/proxy.ts'
import { between } from '../../rig/seeded.ts'

export type FaultCounts = Record<'cut' | 'cutAfterBytes' | 'stall' | 'blackHole' | 'slow' | 'refuse', number>
export type FaultName = keyof FaultCounts

export function noFaults(): FaultCounts {
  return { cut: 0, cutAfterBytes: 0, stall: 0, blackHole: 0, slow: 0, refuse: 0 }
}

export const lineFaults: FaultName[] = ['cut', 'cut', 'cutAfterBytes', 'stall', 'blackHole', 'slow', 'refuse']

/**
 * One fault after another on one proxy, with quiet between, until the signal; then the line is clean. `lines`: so many
 * of a cluster are spoiled side by side, each the less often, or nothing would ever get through all of them.
 */
export async function spoilLine(
  proxy: FaultProxy,
  how: { lines: number; chance: () => number; counts: FaultCounts; signal: AbortSignal },
): Promise<void> {
  const { lines, chance, counts, signal } = how
  try {
    for (;;) {
      await delay(lines * between(chance, 1_500, 6_000), undefined, { signal })
      const name = lineFaults[between(chance, 0, lineFaults.length - 1)] as FaultName
      counts[name]++
      await spoil(proxy, name, chance, signal)
      await proxy.heal()
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    await proxy.heal()
  }
}

/** The line is to be healed afterwards. */
export async function spoil(
  proxy: FaultProxy,
  name: FaultName,
  chance: () => number,
  signal: AbortSignal,
): Promise<void> {
  const hold = (fromMs: number, toMs: number) => delay(between(chance, fromMs, toMs), undefined, { signal })
  if (name === 'cut') return await proxy.cut()
  if (name === 'refuse') {
    await proxy.set({ refuse: true }, {})
    await proxy.cut()
    return await hold(200, 2_500)
  }
  if (name === 'slow') {
    const slow: Faults = { latencyMs: 100, jitterMs: 200, bytesPerSecond: between(chance, 200_000, 2_000_000) }
    await proxy.set(slow, slow)
    return await hold(1_000, 4_000)
  }
  const fault: Faults = name === 'cutAfterBytes' ? { cutAfterBytes: between(chance, 10, 50_000) } : { [name]: true }
  const side = between(chance, 0, 2)
  await proxy.set(side === 1 ? {} : fault, side === 0 ? {} : fault)
  // Some are longer than what is trouble after 5 s.
  await hold(500, name !== 'cutAfterBytes' && chance() < 0.25 ? 9_000 : 2_000)
}
