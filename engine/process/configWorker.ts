import { z } from 'zod'
import { memoryBytesMax, workerBytesMax, workerBytesMin, workerCapacity, workerUnitsMax } from '../limits.ts'
import { tagWords } from './configTags.ts'

/** `worker:` (COORDINATION §9): of each worker that reads this file, and of the one process of `millrace run`. */
export type WorkerSettings = z.output<typeof workerWords>

export const workerWords = z
  .strictObject({
    capacity: z.int().min(1).max(1_000_000).default(workerCapacity),
    tags: tagWords,
    unitsMax: z.int().min(1).max(1_000_000).default(workerUnitsMax),
    memoryBytesMax: z.int().min(workerBytesMin).max(workerBytesMax).default(memoryBytesMax),
  })
  .describe('a mapping with capacity, tags, unitsMax and memoryBytesMax')
