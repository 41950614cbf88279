import { wordCharactersMax } from '../limits.ts'

/**
 * The one of `among` that somebody who wrote `word` may have meant: at most every third character differs, capitals
 * do not count. Null when none is near.
 */
export function nearest(word: string, among: Iterable<string>): string | null {
  if (word.length > wordCharactersMax) return null
  const wanted = word.toLowerCase()
  let best: { name: string; far: number } | null = null
  for (const name of among) {
    const mayDiffer = Math.max(1, Math.floor(Math.max(name.length, word.length) / 3))
    if (Math.abs(name.length - word.length) > mayDiffer) continue
    const far = distance(wanted, name.toLowerCase())
    if (far <= mayDiffer && far < name.length && (best === null || far < best.far)) best = { name, far }
  }
  return best?.name ?? null
}

/** How many characters must be put in, taken out, changed, or swapped with their neighbour. */
export function distance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swap = swapped ? (beforeLast[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY
      row.push(Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, change, swap))
    }
    beforeLast = last
    last = row
  }
  return last[b.length] ?? 0
}
