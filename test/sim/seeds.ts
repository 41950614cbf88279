import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { type Patch, smallDocuments } from './planted.ts'
import type { SimOptions, SimResult } from './simulate.ts'
import type { ThreadData } from './thread.ts'

export type SeedsHow = {
  from: number
  count: number
  threads: number
  patches?: readonly Patch[]
  options: Omit<SimOptions, 'tell'>
  traced?: boolean
  /** False: no more are begun. `lines`: the trace, when it was asked for. */
  each(result: SimResult, lines: readonly string[]): boolean
}

/** What a seed makes is young and dies young. */
const resourceLimits = { maxYoungGenerationSizeMb: 64 }

/** Plays seeds side by side, in threads. */
export async function playSeeds({
  from,
  count,
  threads,
  patches = [],
  traced = false,
  options,
  each,
}: SeedsHow): Promise<void> {
  let next = from
  let goesOn = true
  const one = async () => {
    const workerData: ThreadData = { patches: [...smallDocuments, ...patches], options, traced }
    const thread = new Worker(new URL('./thread.ts', import.meta.url), { workerData, resourceLimits })
    try {
      await once(thread, 'message')
      while (goesOn && next < from + count) {
        thread.postMessage(next++)
        const [{ result, lines }] = (await once(thread, 'message')) as [{ result: SimResult; lines: string[] }]
        if (goesOn && !each(result, lines)) goesOn = false
      }
    } finally {
      await thread.terminate()
    }
  }
  await Promise.all(Array.from({ length: Math.min(threads, count) }, one))
}
