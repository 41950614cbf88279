import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../process/config.ts'

type Block = 'coordination' | 'worker' | 'api' | 'store'

/** What an edit of the file changes of what a process has begun with, and keeps until it ends; `unused`: but for these. */
export function blocksChanged(first: Config, next: Config, unused: readonly Block[] = []): string[] {
  return (['coordination', 'worker', 'api', 'store'] as const)
    .filter(block => !unused.includes(block))
    .filter(block => !isDeepStrictEqual(first[block], next[block]))
    .map(block => `${block}: it cannot be changed while it is in use: start the process anew`)
}
