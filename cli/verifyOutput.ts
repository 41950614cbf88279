import { count } from '../engine/mirror/decide/progressLine.ts'
import type { Verified, VerifyProgress } from '../engine/mirror/verify.ts'
import { tableOf } from './table.ts'

/** Exit code of a comparison that did not get to its end. */
export const unfinished = 12

/** MIRROR §3.6: 0 equal or repeated, 1 different (with `strict` also repeated), 12 unfinished. */
export function verifyExitCode(results: readonly Verified[], strict: boolean): number {
  const found = new Set(results.map(({ verdict }) => verdict))
  if (found.has('different') || (strict && found.has('repeated'))) return 1
  return found.has('unfinished') ? unfinished : 0
}

/** One partition as a JSON line; an offset above 2⁵³ is a decimal string. */
export function verifyJsonLine({ topic, partition, sourceFrom, sourceTo, tally, verdict }: Verified): string {
  const { firstMissing, firstExtra, ...counts } = tally
  const none = firstMissing === null && firstExtra === null
  const firstDifference = none ? null : { source: shown(firstMissing), destination: shown(firstExtra) }
  const range = { sourceFrom: shown(sourceFrom), sourceTo: shown(sourceTo) }
  return `${JSON.stringify({ topic, partition, ...range, ...counts, firstDifference, verdict })}\n`
}

function shown(offset: bigint | null): number | string | null {
  if (offset === null) return null
  return offset <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(offset) : `${offset}`
}

const titles = ['TOPIC', 'PARTITION', 'EQUAL', 'REPEATED', 'MISSING', 'EXTRA', 'EXPIRED', 'DIFFERENCE', 'VERDICT']
const numbers = new Set(titles.slice(1, 7))

export function verifyTable(results: readonly Verified[]): string {
  const rows = results.map(({ topic, partition, tally, verdict }) => [
    topic,
    `${partition}`,
    count(tally.equal),
    count(tally.repeated),
    count(tally.missing),
    count(tally.extra),
    count(tally.expired),
    differenceOf(tally),
    verdict,
  ])
  return tableOf(titles, rows, numbers)
}

/** Where to look: an offset of the source for what is missing, one of the destination for what is extra. */
function differenceOf({ firstMissing, firstExtra, outOfOrder }: Verified['tally']): string {
  const found: string[] = []
  if (firstMissing !== null) found.push(`source ${firstMissing}`)
  if (firstExtra !== null) found.push(`destination ${firstExtra}`)
  if (outOfOrder > 0) found.push(`${count(outOfOrder)} out of order`)
  return found.length > 0 ? found.join(', ') : '-'
}

export function verifyProgressLine(at: VerifyProgress, recordsPerSecond: number): string {
  const partitions = `${count(at.partitionsDone)} of ${count(at.partitions)} partitions`
  const rate = `${count(Math.round(recordsPerSecond))} rec/s`
  return `verify: ${[partitions, `${count(at.records)} records`, rate, `${at.part.topic}/${at.part.partition}`].join(' | ')}`
}
