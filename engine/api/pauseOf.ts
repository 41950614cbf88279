import type { FlowOverlay } from '../fleet/decide/documents/flow.ts'
import { conflict } from './refusal.ts'

type Paused = FlowOverlay['paused']

/** What a pause or a resume is about; null: all of the flow. */
export type Meant = {
  topics: ReadonlySet<string>
  partitions: ReadonlyMap<string, readonly number[]>
} | null

export function meansAll(body: { topics?: unknown; partitions?: unknown } | undefined): boolean {
  return body === undefined || (body.topics === undefined && body.partitions === undefined)
}

export function isMeant(meant: Meant, topic: string, partition: number): boolean {
  return meant === null || meant.topics.has(topic) || (meant.partitions.get(topic)?.includes(partition) ?? false)
}

/** Null: it is as it was. */
export function pausedWith(before: Paused, meant: Meant): Paused | null {
  if (before === '*') return null
  if (meant === null) return '*'
  const after = new Map(before)
  for (const topic of meant.topics) after.set(topic, '*')
  for (const [topic, numbers] of meant.partitions) {
    const of = after.get(topic) ?? []
    if (of !== '*')
      after.set(
        topic,
        [...new Set([...of, ...numbers])].sort((a, b) => a - b),
      )
  }
  return isSame(before, after) ? null : after
}

/** What was paused as a whole cannot be resumed in part: nobody wrote down what its parts are. */
export function pausedWithout(before: Paused, meant: Meant): Paused {
  if (meant === null) return new Map()
  if (before === '*') throw conflict('the flow is paused as a whole', 'resume all of it, then pause what is to stay')
  const after = new Map(before)
  for (const topic of meant.topics) after.delete(topic)
  for (const [topic, numbers] of meant.partitions) {
    const of = after.get(topic) ?? []
    if (of === '*') {
      throw conflict(
        `topic ${topic} is paused as a whole`,
        'resume all of it, then pause the partitions that are to stay',
      )
    }
    const resumed = new Set(numbers)
    const left = of.filter(n => !resumed.has(n))
    if (left.length > 0) after.set(topic, left)
    else after.delete(topic)
  }
  return after
}

function isSame(a: ReadonlyMap<string, '*' | readonly number[]>, b: typeof a): boolean {
  return a.size === b.size && [...b].every(([topic, of]) => String(a.get(topic)) === String(of))
}
