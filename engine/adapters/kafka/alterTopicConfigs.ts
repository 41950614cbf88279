import { type Fault, faultOf } from '../../errors.ts'
import type { ClusterAdmin, ConfigChange } from '../../ports/kafka.ts'
import type { Cluster } from './cluster.ts'
import { adminFault, alterAsk } from './decide/adminFault.ts'
import { incrementalAlterConfigsApi } from './frames/alterConfigs.ts'

/**
 * One IncrementalAlterConfigs for each topic (M-25), to any broker: it forwards to the controller, or writes to ZooKeeper
 * itself. To ask again changes nothing, so another broker is asked when the link is lost before the answer.
 */
export async function alterTopicConfigs(
  cluster: Cluster,
  changes: ConfigChange[],
): ReturnType<ClusterAdmin['alterTopicConfigs']> {
  const wanted = changes.filter(change => change.unset.length > 0 || Object.keys(change.set).length > 0)
  const faults = await Promise.all(wanted.map(change => refusalOf(cluster, change)))
  return wanted.flatMap(({ topic }, i) => {
    const fault = faults[i]
    return fault ? [{ topic, fault }] : []
  })
}

async function refusalOf(cluster: Cluster, change: ConfigChange): Promise<Fault | null> {
  const { topic, set, unset } = change
  const changes = [
    ...Object.entries(set).map(([name, value]) => ({ name, value })),
    ...unset.map(name => ({ name, value: null })),
  ]
  const answer = await cluster.askAny(incrementalAlterConfigsApi, { topics: [{ topic, changes }] })
  const told = answer.topics[0]
  if (told?.error === 0) return null
  // An answer that leaves the topic out says nothing of it, as an unknown error.
  const { error: kafka, message: text } = told ?? { error: -1, message: null }
  return faultOf(adminFault(cluster.name, alterAsk(change), { kafka, text }), 'kafka-unreachable')
}
