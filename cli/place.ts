import { MillraceError } from '../engine/errors.ts'

/** `FLOW[/TOPIC[/PARTITION]]` of a command line. No topic has a slash in its name. */
export type Place = { flow: string; topic: string | null; partition: number | null }

/** `depth`: how many of the three must be there at least, and may be at most. Throws `config-invalid`. */
export function placeOf(text: string, depth: { min: 1 | 3; max: 1 | 2 | 3; example?: string }): Place {
  const parts = text.split('/')
  const [flow = '', topic = null, n = null] = parts
  const isNumber = n === null || /^(0|[1-9]\d{0,9})$/.test(n)
  const isGood = parts.length >= depth.min && parts.length <= depth.max && parts.every(part => part !== '') && isNumber
  if (isGood) return { flow, topic, partition: n === null ? null : Number(n) }
  const hint =
    !isNumber && parts.length === 3
      ? `'${n}' is no number of a partition`
      : depth.example
        ? `as in: ${depth.example}`
        : null
  throw new MillraceError('config-invalid', `expected ${shape(depth)}, found '${text}'`, { hint })
}

/** Of one partition. */
export function partitionOf(text: string, example: string): { flow: string; topic: string; partition: number } {
  const { flow, topic, partition } = placeOf(text, { min: 3, max: 3, example })
  return { flow, topic: topic ?? '', partition: partition ?? 0 }
}

function shape({ min, max }: { min: number; max: number }): string {
  if (min === 3) return 'FLOW/TOPIC/PARTITION'
  return ['FLOW', 'FLOW[/TOPIC]', 'FLOW[/TOPIC[/PARTITION]]'][max - 1] ?? 'FLOW'
}
