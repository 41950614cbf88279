import type { Chance } from '../engine/ports/clock.ts'

/** Chance that is the same each time for one seed, so that a failure can be seen again (splitmix32). */
export function seeded(seed: number | string): Chance {
  let state = typeof seed === 'number' ? seed | 0 : hashed(seed)
  return () => {
    state = (state + 0x9e3779b9) | 0
    let mixed = state ^ (state >>> 16)
    mixed = Math.imul(mixed, 0x21f0aaad)
    mixed ^= mixed >>> 15
    mixed = Math.imul(mixed, 0x735a2d97)
    mixed ^= mixed >>> 15
    return (mixed >>> 0) / 2 ** 32
  }
}

/** A whole number from `from` up to `to`, both among them. */
export function between(chance: Chance, from: number, to: number): number {
  return from + Math.floor(chance() * (to - from + 1))
}

function hashed(text: string): number {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193)
  return hash
}
