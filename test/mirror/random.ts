/** Chance that can be played again. */
export type Random = {
  /** 0 ≤ x < 1. */
  share(): number
  /** A whole number from 0 up to, not with, `n`. */
  below(n: number): number
  of<T>(items: readonly T[]): T
  weighted<T extends { weight: number }>(items: readonly T[]): T
}

/** Mulberry32: small, and good enough to choose what goes wrong next. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0
  const share = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (n: number) => Math.floor(share() * n)
  return {
    share,
    below,
    of: <T>(items: readonly T[]) => items[below(items.length)] as T,
    weighted<T extends { weight: number }>(items: readonly T[]): T {
      let left = share() * items.reduce((sum, item) => sum + item.weight, 0)
      for (const item of items) {
        left -= item.weight
        if (left < 0) return item
      }
      return items.at(-1) as T
    },
  }
}
