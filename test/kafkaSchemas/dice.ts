/** Random values from a seed: small ones, large ones, and the ends of each kind. */
export function diceOf(seed: number) {
  let state = seed >>> 0
  /** mulberry32: 0 ≤ x < 1. */
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number) => Math.floor(next() * limit)
  const int = (bits: number) => {
    const half = 2 ** (bits - 1)
    const kind = below(8)
    if (kind === 0) return -1
    if (kind === 1) return below(2) === 0 ? -half : half - 1
    return kind < 6 ? below(Math.min(half, 1000)) : below(2 * half) - half
  }
  const bytes = () =>
    Buffer.from(Array.from({ length: below(30) === 0 ? 100 + below(200) : below(12) }, () => below(256)))
  return {
    below,
    int,
    bytes,
    yes: () => below(2) === 0,
    long: () => BigInt.asIntN(64, (BigInt(int(32)) << BigInt(below(2) * 32)) | BigInt(below(2 ** 32))),
    text: () =>
      bytes()
        .toString('base64')
        .replaceAll('=', below(2) === 0 ? 'é' : ''),
    /** 22 characters; sometimes the zero id. */
    uuid: () =>
      Buffer.from(Array.from({ length: 16 }, below(6) === 0 ? () => 0 : () => below(256))).toString('base64url'),
    list: <T>(item: () => T): T[] => Array.from({ length: below(4) }, item),
    orNull: <T>(item: () => T): T | null => (below(4) === 0 ? null : item()),
  }
}

export type Dice = ReturnType<typeof diceOf>
