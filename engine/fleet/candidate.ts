import { MillraceError } from '../errors.ts'
import { pause } from '../flow/pause.ts'
import { unlessAborted } from '../flow/unlessAborted.ts'
import type { Clock } from '../ports/clock.ts'
import type { Coordinator } from '../ports/coordinator.ts'
import { type CandidateDoc, readCandidate, writeCandidate } from './decide/documents/candidate.ts'
import { paths } from './decide/documents/paths.ts'
import { leaseTimes, silentSince } from './decide/lease.ts'
import type { Lease } from './lease.ts'

export type QueueHow = {
  coordinator: Coordinator
  identity: { id: string; url: string | null; software: string }
  lease: Lease
  clock: Clock
  signal: AbortSignal
}

/** Our place in the queue, as it was made or found. */
export type Place = { path: string; version: number; data: string }

/**
 * A document with a number that only grows (C-20). After an unknown outcome it may be there: one of this session is
 * looked for before another is made. Null: not now.
 */
export async function enterQueue(how: QueueHow): Promise<Place | null> {
  const { coordinator, identity, lease } = how
  const { fencedMs } = leaseTimes(coordinator.state().timeoutMs)
  const data = writeCandidate({ ...identity, leaseMs: fencedMs })
  const there = await placeOfOurs(coordinator)
  if (there) return { ...there, data }
  const sent = lease.sent()
  const written = await coordinator.write([{ do: 'create', path: paths.candidate, data, mode: 'sequential' }])
  const path = written.done ? written.paths[0] : undefined
  if (path === undefined) return null
  lease.answered(sent)
  return { path, version: 0, data }
}

async function placeOfOurs(coordinator: Coordinator): Promise<{ path: string; version: number } | null> {
  for (const path of await candidates(coordinator)) {
    const node = await coordinator.read(path)
    if (node && node.owner === coordinator.state().session) return { path, version: node.version }
  }
  return null
}

/** Lowest number first. */
async function candidates(coordinator: Coordinator): Promise<string[]> {
  const names = await coordinator.children(paths.candidates)
  const number = (path: string) => Number(path.slice(paths.candidate.length))
  return names
    .map(name => `${paths.candidates}/${name}`)
    .filter(path => path.startsWith(paths.candidate))
    .sort((a, b) => number(a) - number(b))
}

/** Until we are first in line; false: the signal said so, or our place is gone. Looks at the one before us only (C-20). */
export async function firstInLine(how: QueueHow, place: Place): Promise<boolean> {
  const { coordinator, clock, signal } = how
  const { lookMs } = leaseTimes(coordinator.state().timeoutMs)
  while (!signal.aborted) {
    const line = await unlessAborted(candidates(coordinator).catch(unanswered), signal)
    if (signal.aborted) return false
    if (line) {
      const at = line.indexOf(place.path)
      if (at <= 0) return at === 0
      await goneBefore(how, line[at - 1] ?? '')
    } else await pause(clock, lookMs, signal)
  }
  return false
}

/** Until the one before us is gone, or was taken away by us for its silence. */
async function goneBefore({ coordinator, identity, lease, clock, signal }: QueueHow, path: string): Promise<void> {
  const { lookMs, fencedMs } = leaseTimes(coordinator.state().timeoutMs)
  const over = new AbortController()
  const ends = AbortSignal.any([signal, over.signal])
  let hint = new AbortController()
  let seen = null as { version: number; created: string; atMs: number } | null
  coordinator.watch(path, 'data', () => hint.abort(), ends)
  try {
    while (!signal.aborted) {
      hint = new AbortController()
      const node = await unlessAborted(coordinator.read(path).catch(unanswered), signal)
      if (signal.aborted) return
      if (node === null) return
      if (node) {
        const { version, created } = node
        if (seen?.version !== version || seen.created !== created) seen = { version, created, atMs: clock.nowMs() }
        const doc = candidateOr(node.data, path)
        const silentMs = clock.nowMs() - silentSince(seen, lease.answeredSinceMs())
        // One of ours, of a session before, beats no more.
        const isOver = doc?.id === identity.id || silentMs >= (doc?.leaseMs ?? fencedMs) + lookMs
        if (isOver && lease.state() === 'open') {
          await unlessAborted(coordinator.write([{ do: 'remove', path, version }]).catch(unanswered), signal)
          continue
        }
      }
      await pause(clock, lookMs, AbortSignal.any([signal, hint.signal]))
    }
  } finally {
    over.abort()
  }
}

function candidateOr(text: string, path: string): CandidateDoc | null {
  try {
    return readCandidate(text, path)
  } catch (error) {
    if (error instanceof MillraceError) return null
    throw error
  }
}

/** Of what cannot be asked now: it is asked again. */
function unanswered(error: unknown): undefined {
  if (error instanceof MillraceError) return undefined
  throw error
}
