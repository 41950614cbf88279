/** The lowest of what was noted, and of what is now, since it was last asked for. */
export type Lowest = { note(value: number): void; take(now: number): number }

export function lowest(): Lowest {
  let low = Number.POSITIVE_INFINITY
  return {
    note(value) {
      low = Math.min(low, value)
    },
    take(now) {
      const found = Math.min(low, now)
      low = Number.POSITIVE_INFINITY
      return found
    },
  }
}
