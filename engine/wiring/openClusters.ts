import { kafkaMeasures } from '../adapters/kafka/measures.ts'
import { MemoryAccount } from '../adapters/kafka/slab.ts'
import { MillraceError } from '../errors.ts'
import type { Tell } from '../flow/event.ts'
import type { Redactor } from '../flow/redactor.ts'
import type { Clock } from '../ports/clock.ts'
import type { KafkaCluster } from '../ports/kafka.ts'
import type { Measure } from '../ports/metrics.ts'
import type { NamedCluster } from './clusters.ts'
import { openCluster } from './openCluster.ts'

/** The clusters of a process, each opened once, on one account of memory. */
export type OpenClusters = {
  /** Those that are not there yet; what is open stays as it was opened. */
  add(clusters: Iterable<NamedCluster>): void
  kafka(cluster: string): KafkaCluster
  measures: Measure[]
  close(): Promise<void>
}

/** `memoryBytesMax`: of fetched batches that are not yet acknowledged, over all clusters. */
export function openClusters(
  first: Iterable<NamedCluster>,
  { memoryBytesMax, ...parts }: { clock: Clock; redactor: Redactor; tell: Tell; memoryBytesMax?: number },
): OpenClusters {
  const account = new MemoryAccount(memoryBytesMax === undefined ? {} : { bytesMax: memoryBytesMax })
  const open = new Map<string, ReturnType<typeof openCluster>>()
  const add = (clusters: Iterable<NamedCluster>) => {
    for (const named of clusters) {
      if (!open.has(named.name)) open.set(named.name, openCluster(named, { ...parts, account }))
    }
  }
  add(first)
  return {
    add,
    kafka(name) {
      const found = open.get(name)
      if (!found) throw new MillraceError('config-invalid', `there is no cluster '${name}'`)
      return found
    },
    measures: kafkaMeasures(account, () => [...open].map(([name, { counts }]) => ({ name, counts }))),
    async close() {
      await Promise.all([...open.values()].map(cluster => cluster.close()))
    },
  }
}
