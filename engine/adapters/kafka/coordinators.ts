import { MillraceError } from '../../errors.ts'
import { missingRight } from '../../flow/missingRight.ts'
import type { Cluster } from './cluster.ts'
import { troubleCode } from './decide/classify.ts'
import { findCoordinatorApi } from './frames/findCoordinator.ts'

const groupNotAuthorized = 30

/** We may not read or store the offsets of this group: not mended by asking again soon. */
export function groupDenied(cluster: string, group: string): MillraceError {
  const message = `${cluster}: the offsets of group ${group} may not be read (Kafka's error ${groupNotAuthorized})`
  const hint = missingRight(`Read on group ${group}`)
  return new MillraceError('kafka-not-authorized', message, { kafka: groupNotAuthorized, hint })
}

/** Which broker keeps a group's offsets; cached until it says that it does not (KAFKA-CLIENT W-62). */
export class Coordinators {
  readonly #cluster: Cluster
  readonly #known = new Map<string, number>()

  constructor(cluster: Cluster) {
    this.#cluster = cluster
  }

  /** Rejects with a MillraceError; the caller tries again. */
  async of(group: string): Promise<number> {
    const known = this.#known.get(group)
    if (known !== undefined) return known
    const answer = await this.#cluster.askAny(findCoordinatorApi, { type: 0, keys: [group] })
    const found = answer.coordinators[0]
    if (found?.error !== 0) {
      const kafka = found?.error ?? -1
      if (kafka === groupNotAuthorized) throw groupDenied(this.#cluster.name, group)
      const message = `${this.#cluster.name}: the coordinator of group ${group} is not known (Kafka's error ${kafka}, ${troubleCode(kafka, 'source')})`
      throw new MillraceError('kafka-unreachable', message, { retryable: true, kafka })
    }
    // The broker may be newer than our metadata.
    this.#cluster.learnBroker(found.node, found.host, found.port)
    this.#known.set(group, found.node)
    return found.node
  }

  forget(group: string): void {
    this.#known.delete(group)
  }
}
