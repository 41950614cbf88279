import { every } from '../flow/every.ts'
import { leaderLookMs } from '../limits.ts'
import type { Clock } from '../ports/clock.ts'
import type { Coordinator } from '../ports/coordinator.ts'
import { readCandidate } from './decide/documents/candidate.ts'
import { readEpoch } from './decide/documents/epoch.ts'
import { paths } from './decide/documents/paths.ts'

/** Who leads, as any process sees it (C-101); `url` null: it has none. */
export type LeaderSeen = { id: string; epoch: number; url: string | null }

/** Looks each second, and when candidates come or go. While nothing is answered, what was seen last stands. */
export function watchLeader(how: { coordinator(): Coordinator; clock: Clock }): {
  now(): LeaderSeen | null
  close(): void
} {
  let seen: LeaderSeen | null = null
  let watched: { coordinator: Coordinator; ended: AbortController } | null = null
  let looking = false

  async function look(): Promise<void> {
    const coordinator = how.coordinator()
    if (looking || coordinator.state().phase !== 'connected') return
    looking = true
    try {
      if (watched?.coordinator !== coordinator) {
        // A session that is over is kept by nobody.
        watched?.ended.abort()
        watched = { coordinator, ended: new AbortController() }
        coordinator.watch(paths.candidates, 'children', () => void look(), watched.ended.signal)
      }
      seen = await leaderIn(coordinator)
    } catch {
      // It is looked again within a second.
    } finally {
      looking = false
    }
  }

  const cancel = every(how.clock, leaderLookMs, () => void look())
  void look()
  return {
    now: () => seen,
    close() {
      cancel()
      watched?.ended.abort()
    },
  }
}

/** The first in line, once it has taken office (C-20, C-21). */
async function leaderIn(coordinator: Coordinator): Promise<LeaderSeen | null> {
  const [names, epoch] = await Promise.all([coordinator.children(paths.candidates), coordinator.read(paths.epoch)])
  const first = names.sort()[0]
  if (first === undefined || epoch === null) return null
  const path = `${paths.candidates}/${first}`
  const node = await coordinator.read(path)
  if (node === null) return null
  const { id, url } = readCandidate(node.data, path)
  const office = readEpoch(epoch.data, paths.epoch)
  return office.leader === id ? { id, url, epoch: office.epoch } : null
}
