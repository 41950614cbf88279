import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../process/config.ts'

type Clusters = Pick<Config, 'clusters'>

/**
 * The clusters that a process has opened, as it opened them: links and what is known of brokers belong to a cluster as
 * it was first read, also when that was in a later edit of the file, and when it has left the file meanwhile.
 */
export function clustersInUse(first: Clusters): { add(more: Clusters): void; changed(next: Clusters): string[] } {
  const opened = new Map(first.clusters)
  return {
    add({ clusters }) {
      for (const [name, settings] of clusters) if (!opened.has(name)) opened.set(name, settings)
    },
    changed: ({ clusters }) =>
      [...clusters].flatMap(([name, settings]) => {
        const old = opened.get(name)
        if (!old || isDeepStrictEqual(old, settings)) return []
        return [`clusters.${name}: it cannot be changed while it is in use: start the process anew`]
      }),
  }
}
