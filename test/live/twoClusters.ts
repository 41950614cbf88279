import { after, before } from 'node:test'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { openPlain } from '../../rig/openPlain.ts'
import { type LiveRig, rigFor } from './rigFor.ts'

export type TwoClusters = { set: LiveRig<Record<never, never>>; east: KafkaCluster; west: KafkaCluster }

/**
 * In a `describe`: the two common clusters, open while its tests run. `ready` takes them before the first; the process
 * is kept alive meanwhile, for our own timers keep nobody.
 */
export function withTwoClusters(aliveMs: number, ready: (two: TwoClusters) => void): void {
  let alive: NodeJS.Timeout | undefined
  let two: TwoClusters | null = null
  before(async () => {
    // Not earlier: of a suite without a test that is asked for no hook is called.
    alive = setInterval(() => {}, aliveMs)
    const set = await rigFor({})
    two = { set, east: openPlain('east', set.east.bootstrap), west: openPlain('west', set.west.bootstrap) }
    ready(two)
  })
  after(async () => {
    clearInterval(alive)
    await Promise.all([two?.east.close(), two?.west.close()])
    await two?.set.dispose()
  })
}
