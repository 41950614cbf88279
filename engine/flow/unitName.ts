import type { Part } from '../ports/kafka.ts'

/** A unit's name within its flow (M-1), and the key of a partition in maps. */
export function unitName(part: Part): string {
  return `${part.topic}/${part.partition}`
}

/** A topic's name has no slash. */
export function partOf(unit: string): Part {
  const slash = unit.lastIndexOf('/')
  return { topic: unit.slice(0, slash), partition: Number(unit.slice(slash + 1)) }
}
