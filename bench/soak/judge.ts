import type { JsonLine } from '../../test/live/millrace.ts'
import type { Incarnation, PartLedger } from './ledger.ts'

export type Verdict = {
  /** Acknowledged by the source. */
  records: number
  /** Missing, and nothing accounts for them. */
  lost: number
  /** Missing, and inside of a `source-gap` that was told. */
  gapRecords: number
  /** Trimmed before the flow had a start in that partition: nothing to tell (M-70). */
  beforeStart: number
  /** The end of a deleted topic that was not copied any more, told by `topic-recreated` or `source-topic-deleted`. */
  deletedRecords: number
  /** Of topics that came and went without one record copied and without a word. */
  unseen: number
  /** The first ones that are lost, in words. */
  examples: string[]
}

type Gap = { from: number; to: number }
type Fate = 'gapRecords' | 'beforeStart' | 'deletedRecords' | 'unseen' | 'lost'
/** How long after a deletion what is told may still be of it. */
const toldWithinMs = 120_000
const examplesMax = 20

/** Accounts for each number that was acknowledged at the source. `seen`: by incarnation and partition, 1 = arrived. */
export function judge(
  incarnations: readonly Incarnation[],
  seen: (incarnation: number, partition: number) => Uint8Array,
  events: readonly JsonLine[],
): Verdict {
  const verdict: Verdict = {
    records: 0,
    lost: 0,
    gapRecords: 0,
    beforeStart: 0,
    deletedRecords: 0,
    unseen: 0,
    examples: [],
  }
  for (const one of incarnations) {
    const isTold = toldDeleted(one, events)
    const isSeen = one.parts.some((_, p) => seen(one.number, p).includes(1))
    for (const [partition, part] of one.parts.entries()) {
      const arrived = seen(one.number, partition)
      const fate = fates(one, part, { arrived, gaps: gapsOf(one, partition, events), isTold, isSeen })
      verdict.records += part.acked
      const lost: number[] = []
      for (let n = 0; n < part.acked; n++) {
        if (arrived[n]) continue
        const is = fate(n)
        verdict[is]++
        if (is === 'lost') lost.push(n)
      }
      if (lost.length > 0 && verdict.examples.length < examplesMax)
        verdict.examples.push(example(one, partition, { arrived, lost, events }))
    }
  }
  return verdict
}

function fates(
  one: Incarnation,
  part: PartLedger,
  of: { arrived: Uint8Array; gaps: readonly Gap[]; isTold: boolean; isSeen: boolean },
): (n: number) => Fate {
  const first = of.arrived.indexOf(1)
  const last = of.arrived.lastIndexOf(1)
  const unstarted = Math.max(0, ...part.trims.filter(trim => !trim.wasStarted).map(trim => trim.before))
  return n => {
    if (of.gaps.some(gap => gap.from <= n && n < gap.to)) return 'gapRecords'
    if (n < unstarted && (first < 0 || n < first)) return 'beforeStart'
    if (one.deletedMs === null || n < last) return 'lost'
    if (of.isTold) return 'deletedRecords'
    return of.isSeen ? 'lost' : 'unseen'
  }
}

/** A gap ends where the log was trimmed to, and is told while the topic lives, or soon after. */
function gapsOf(one: Incarnation, partition: number, events: readonly JsonLine[]): Gap[] {
  const ends = new Set(one.parts[partition]?.trims.map(trim => trim.before))
  return events
    .filter(event => event['code'] === 'source-gap' && event['topic'] === one.topic)
    .filter(event => event['partition'] === partition && livedAt(one, atMs(event)))
    .map(event => ({ from: Number(event['from']), to: Number(event['to']) }))
    .filter(({ to }) => ends.has(to))
}

function toldDeleted(one: Incarnation, events: readonly JsonLine[]): boolean {
  const { deletedMs } = one
  if (deletedMs === null) return false
  return events.some(event => {
    if (event['topic'] !== one.topic) return false
    if (event['code'] === 'topic-recreated') return event['oldId'] === one.topicId
    return event['code'] === 'source-topic-deleted' && atMs(event) >= deletedMs && livedAt(one, atMs(event))
  })
}

function livedAt(one: Incarnation, ms: number): boolean {
  return ms >= one.createdMs && ms <= (one.deletedMs ?? Number.POSITIVE_INFINITY) + toldWithinMs
}

function atMs(event: JsonLine): number {
  return Date.parse(String(event['at']))
}

function example(
  one: Incarnation,
  partition: number,
  of: { arrived: Uint8Array; lost: readonly number[]; events: readonly JsonLine[] },
): string {
  const { arrived, lost } = of
  const { topic, topicId, deletedMs, createdMs } = one
  const { acked, trims } = one.parts[partition] as PartLedger
  const life = `${iso(createdMs)} to ${deletedMs === null ? 'the end' : iso(deletedMs)}`
  const trimmed = trims.map(({ before, wasStarted }) => `${before}${wasStarted ? '' : ' before its start'}`).join(', ')
  const told = of.events.filter(event => event['topic'] === topic).map(event => `\n  ${JSON.stringify(event)}`)
  return `${topic}/${partition} incarnation ${one.number} (${topicId}, ${life}): ${lost.length} lost, from ${lost[0]} to ${lost.at(-1)}; ${acked} acknowledged, arrived ${arrived.indexOf(1)} to ${arrived.lastIndexOf(1)}, trimmed to [${trimmed}]${told.join('')}`
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
