import { setTimeout as delay } from 'node:timers/promises'
import { MillraceError } from '../../../engine/errors.ts'
import { readAssignment } from '../../../engine/fleet/decide/documents/assignment.ts'
import { paths } from '../../../engine/fleet/decide/documents/paths.ts'
import { namesOf } from '../../../engine/fleet/decide/units.ts'
import type { Coordinator } from '../../../engine/ports/coordinator.ts'

/** Who owns which unit, by the assignments as they stand in ZooKeeper (C-30). */
export type Owners = {
  now(): ReadonlyMap<string, string>
  /** How often a unit was given to another worker than had it last, since the start. */
  moves(): number
  /** Of each unit that was. */
  movesOf(): ReadonlyMap<string, number>
  unitsOf(id: string): Set<string>
  /** Until this holds of a fresh look. */
  until(fits: (owners: ReadonlyMap<string, string>) => boolean): Promise<void>
  stop(): Promise<void>
}

const lookMs = 50

/** Looks again and again through sessions of its own; while ZooKeeper is away, nothing is seen. */
export function watchOwners(open: () => Coordinator, signal: AbortSignal): Owners {
  const ended = new AbortController()
  let coordinator = open()
  const until = AbortSignal.any([signal, ended.signal])
  let owners = new Map<string, string>()
  const last = new Map<string, string>()
  const waiting = new Set<() => void>()
  const moves = new Map<string, number>()
  const look = async () => {
    if (coordinator.state().phase === 'lost') {
      await coordinator.close()
      coordinator = open()
    }
    const found = await ownersIn(coordinator)
    for (const [unit, owner] of found) {
      if (last.has(unit) && last.get(unit) !== owner) moves.set(unit, (moves.get(unit) ?? 0) + 1)
      last.set(unit, owner)
    }
    owners = found
    for (const judge of waiting) judge()
  }
  const looking = (async () => {
    while (!until.aborted) {
      await look().catch(unanswered)
      await delay(lookMs, undefined, { signal: until }).catch(() => {})
    }
  })()
  return {
    now: () => owners,
    moves: () => [...moves.values()].reduce((sum, of) => sum + of, 0),
    movesOf: () => new Map(moves),
    unitsOf: id => new Set([...owners].filter(([, owner]) => owner === id).map(([unit]) => unit)),
    until: fits =>
      new Promise((resolve, reject) => {
        const judge = () => {
          if (!fits(owners)) return
          waiting.delete(judge)
          resolve()
        }
        waiting.add(judge)
        until.addEventListener('abort', () => reject(until.reason), { once: true })
      }),
    async stop() {
      ended.abort(new Error('the owners are watched no more'))
      await looking
      await coordinator.close()
    },
  }
}

async function ownersIn(coordinator: Coordinator): Promise<Map<string, string>> {
  const owners = new Map<string, string>()
  const ids = await coordinator.children(paths.assignments)
  await Promise.all(
    ids.map(async id => {
      const path = paths.assignment(id)
      const node = await coordinator.read(path)
      if (node === null) return
      for (const unit of namesOf(readAssignment(node.data, path).units)) owners.set(unit, id)
    }),
  )
  return owners
}

/** The partition of `<flow>/<topic>/<n>`. */
export const partitionOf = (unit: string): number => Number(unit.slice(unit.lastIndexOf('/') + 1))

/** It is asked again. */
function unanswered(error: unknown): void {
  if (!(error instanceof MillraceError)) throw error
}
