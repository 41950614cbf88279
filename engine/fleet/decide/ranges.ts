import { MillraceError } from '../../errors.ts'
import { rangeNumbersMax } from '../../limits.ts'

/** Units are numbered from 0 to 2³¹ − 1 (C-1). */
const numberMax = 2 ** 31 - 1

/** Numbers as text: ascending, runs of two or more as `a-b`, commas, no space (C-31). Repeats count once. */
export function encodeRanges(numbers: Iterable<number>): string {
  const sorted = [...new Set(numbers)].sort((a, b) => a - b)
  const parts: string[] = []
  for (let at = 0; at < sorted.length; ) {
    const first = sorted[at] as number
    let last = first
    while (sorted[at + 1] === last + 1) last = sorted[++at] as number
    parts.push(last === first ? String(first) : `${first}-${last}`)
    at++
  }
  return parts.join(',')
}

/**
 * Strict: what `encodeRanges` would not write is `state-corrupt`, with the text and the position; so is what means more
 * than `most` numbers: a dozen bytes would take all memory.
 */
export function decodeRanges(text: string, most = rangeNumbersMax): number[] {
  const numbers: number[] = []
  let at = 0
  for (const part of text === '' ? [] : text.split(',')) {
    const match = /^(0|[1-9]\d{0,9})(?:-(0|[1-9]\d{0,9}))?$/.exec(part)
    const first = Number(match?.[1])
    const last = Number(match?.[2] ?? match?.[1])
    const before = numbers.at(-1) ?? -2
    const isRun = match?.[2] !== undefined
    const ascends = first > before + 1 && (isRun ? last > first : true)
    if (!match || last > numberMax || !ascends) {
      throw new MillraceError('state-corrupt', `'${text}' is no list of ranges: '${part}' at position ${at + 1}`)
    }
    if (numbers.length + last - first >= most) {
      const room = `more than ${rangeNumbersMax} numbers in one document`
      throw new MillraceError('state-corrupt', `${room}: '${part}' at position ${at + 1} of a list of ranges`)
    }
    for (let n = first; n <= last; n++) numbers.push(n)
    at += part.length + 1
  }
  return numbers
}
