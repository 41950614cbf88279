import { z } from 'zod'
import type { Overlay } from '../flow/overlay.ts'
import { configPartitionMax } from '../limits.ts'

/**
 * `paused` and `skips` of a flow in the file: the overlay of C-38 where no API is there to change it. `paused: true`
 * or `{"*": "*"}` = the whole flow; by topic: `true` or `"*"` = all of it, `"0-3,7"` or `7` = these partitions.
 * `skips: {topic: {partition: [offset, records]}}`.
 */
export const overlayWords = z.strictObject({
  paused: z
    .union([
      z.boolean(),
      z.record(
        z.string(),
        z
          .union([z.literal(true), z.string(), z.int().min(0)])
          .refine(value => partitionsOf(value) !== null, { params: { rule: 'C-38' } })
          .describe('true, "*" or partitions such as "0-3,7"'),
      ),
    ])
    .refine(of => typeof of === 'boolean' || of['*'] === undefined || partitionsOf(of['*']) === '*', {
      path: ['*'],
      params: { rule: 'C-38', expected: '"*": all of the flow' },
    })
    .describe('true, or a mapping of topics')
    .default(false),
  skips: z
    .record(
      z.string(),
      z
        .record(
          z
            .string()
            .regex(/^\d{1,5}$/)
            .describe('the number of a partition'),
          z
            .tuple([z.union([z.int().min(0), z.string().regex(/^\d{1,18}$/)]), z.int().min(1)])
            .describe('[offset, records], such as [50, 1]'),
        )
        .describe('a mapping of partitions'),
    )
    .describe('a mapping of topics')
    .default({}),
})

export function overlayOf({ paused, skips }: z.output<typeof overlayWords>): Overlay {
  return {
    paused: pausedOf(paused),
    skips: new Map(
      Object.entries(skips).flatMap(([topic, parts]) =>
        Object.entries(parts).map(([part, [offset, records]]) => [
          `${topic}/${Number(part)}`,
          { offset: BigInt(offset), records },
        ]),
      ),
    ),
    // In the file a topic is taken or left by `topics` itself.
    topics: new Map(),
  }
}

function pausedOf(paused: boolean | Record<string, string | number | true>): Overlay['paused'] {
  if (paused === true || (paused !== false && paused['*'] !== undefined)) return '*'
  const topics = Object.entries(paused || {}).map(([topic, value]) => [topic, partitionsOf(value) ?? '*'] as const)
  return new Map(topics)
}

/** Null: they are none. In any order and with spaces, as people write them; C-31 is for documents that we write. */
function partitionsOf(value: string | number | true): '*' | ReadonlySet<number> | null {
  if (value === true || value === '*') return '*'
  const found = new Set<number>()
  for (const piece of String(value).split(',')) {
    const match = /^\s*(\d{1,6})(?:\s*-\s*(\d{1,6}))?\s*$/.exec(piece)
    const first = Number(match?.[1])
    const last = match?.[2] === undefined ? first : Number(match[2])
    if (!(first <= last && last <= configPartitionMax)) return null
    for (let partition = first; partition <= last; partition++) found.add(partition)
  }
  return found
}
