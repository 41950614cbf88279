import { MillraceError } from '../errors.ts'
import type { Tell } from '../flow/event.ts'
import { pause } from '../flow/pause.ts'
import { unlessAborted } from '../flow/unlessAborted.ts'
import { backOffMs, clusterUnreachableMs, linkBackOff } from '../limits.ts'
import type { Chance, Clock } from '../ports/clock.ts'
import type { ClusterView, KafkaCluster } from '../ports/kafka.ts'

type How = { clock: Clock; chance: Chance; stop: AbortSignal; tell: Tell }

/**
 * The first look at a cluster: tried for 30 s, then the last error is thrown (M-100). What trying again cannot mend is
 * thrown at once.
 */
export async function firstLook(cluster: KafkaCluster, topics: string[] | 'all', how: How): Promise<ClusterView> {
  const { clock, chance, stop, tell } = how
  const late = new AbortController()
  const cancel = clock.after(clusterUnreachableMs, () => late.abort())
  const ends = AbortSignal.any([late.signal, stop])
  let last: unknown = new MillraceError('kafka-unreachable', `no answer within ${clusterUnreachableMs / 1000} s`)
  try {
    for (let tries = 1; ; tries++) {
      const looked = await unlessAborted(attempt(cluster, topics), ends)
      if (looked !== null && 'view' in looked) return looked.view
      if (looked !== null) last = looked.error
      if (looked === null || !(last instanceof MillraceError) || !last.retryable) throw last
      if (tries === 1) tell({ code: last.code, message: last.message, hint: last.hint, state: 'unavailable' })
      await pause(clock, backOffMs(linkBackOff, tries, chance), ends)
      if (ends.aborted) throw last
    }
  } finally {
    cancel()
  }
}

async function attempt(
  cluster: KafkaCluster,
  topics: string[] | 'all',
): Promise<{ view: ClusterView } | { error: unknown }> {
  try {
    return { view: await cluster.admin.look(topics) }
  } catch (error) {
    return { error }
  }
}
