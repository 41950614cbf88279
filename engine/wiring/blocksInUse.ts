import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../process/config.ts'

const blocks = ['coordination', 'worker', 'api', 'store'] as const

/** What an edit of the file changes of what a process has begun with, and keeps until it ends. */
export function blocksChanged(first: Config, next: Config): string[] {
  return blocks
    .filter(block => !isDeepStrictEqual(first[block], next[block]))
    .map(block => `${block}: it cannot be changed while it is in use: start the process anew`)
}
