import type { ApiRange } from '../frames/apiVersions.ts'

export type Ours = { key: number; name: string; min: number; max: number }
/** Lowers the upper bound of an API by key, so that tests run every version on one broker (W-12). */
export type Caps = ReadonlyMap<number, number>
export type Missing = Ours & { broker: { min: number; max: number } | null }

/** The highest common version of each API; those without one are `missing`, with both ranges (W-12). */
export function chooseVersions(
  ours: readonly Ours[],
  brokerRanges: readonly ApiRange[],
  caps: Caps = new Map(),
): { versions: Map<number, number>; missing: Missing[] } {
  const ranges = new Map(brokerRanges.map(range => [range.key, range]))
  const versions = new Map<number, number>()
  const missing: Missing[] = []
  for (const api of ours) {
    const broker = ranges.get(api.key) ?? null
    const highest = Math.min(api.max, broker?.max ?? -1, caps.get(api.key) ?? api.max)
    if (broker === null || highest < api.min || highest < broker.min) missing.push({ ...api, broker })
    else versions.set(api.key, highest)
  }
  return { versions, missing }
}
