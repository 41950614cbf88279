import type { FaultCode } from '../errors.ts'
import type { TopicId } from '../ports/kafka.ts'

/** What follows when offsets are gone or changed (M-70 to M-72). */
export type Gaps = 'continue' | 'stop'
/** What whoever is stopped by `stop` may do. */
export const stoppedHint = 'gaps: continue goes on with what the source has now'
export type Start = 'earliest' | 'latest' | { timeMs: number }
/** `from` and `to` are offsets: what was lost, or what was cut, lies from `from` up to, not with, `to`. */
export type PositionEvent =
  | { code: 'topic-recreated'; oldId: TopicId; newId: TopicId; checkpoint: bigint }
  | { code: 'source-gap'; from: bigint; to: bigint }
  | { code: 'source-truncated'; from: bigint; to: bigint }
export type Placed =
  | { at: bigint; event: PositionEvent | null }
  /** The policy says stop, or there is no checkpoint where one was. */
  | { error: Extract<FaultCode, 'topic-recreated' | 'source-gap' | 'source-truncated' | 'checkpoint-lost'> }
  /** The facts are not there now: looked up again. */
  | { unavailable: true }

export type StartFacts = {
  /** `topicId` '' = not known, matches any. */
  checkpoint: { offset: bigint; topicId: TopicId } | null
  topicId: TopicId
  partition: number
  /** 1 + the highest partition of this topic id that has had a checkpoint; null = the topic id has had none. */
  parts: number | null
  /** `first`: nothing of this flow has an offset yet. */
  found: 'first' | 'later'
  /** null = no answer. */
  logStart: bigint | null
  lastStable: bigint | null
  highWatermark: bigint | null
  /** The first offset at or after the time that `start` asks for, null = none such. */
  atTime: bigint | null
  isolation: 'read_committed' | 'read_uncommitted'
  start: Start
  gaps: Gaps
}

/** Where a partition begins: the first row of M-70 that fits. An offset of 0 is an offset, −1 is none. */
export function startPosition(facts: StartFacts): Placed {
  const { logStart, lastStable, highWatermark, topicId } = facts
  if (!known(logStart) || !known(lastStable) || !known(highWatermark)) return { unavailable: true }
  const checkpoint = facts.checkpoint !== null && facts.checkpoint.offset >= 0n ? facts.checkpoint : null
  if (checkpoint) {
    if (otherTopic(checkpoint.topicId, topicId)) {
      const event = { code: 'topic-recreated', oldId: checkpoint.topicId, newId: topicId } as const
      return placed(logStart, { ...event, checkpoint: checkpoint.offset }, facts.gaps)
    }
    return insideLog(checkpoint.offset, logStart, highWatermark, facts.gaps)
  }
  if (facts.parts !== null && facts.partition < facts.parts) return { error: 'checkpoint-lost' }
  if (facts.found === 'later' || facts.parts !== null) return { at: logStart, event: null }
  const end = facts.isolation === 'read_committed' ? lastStable : highWatermark
  if (facts.start === 'earliest') return { at: logStart, event: null }
  if (facts.start === 'latest') return { at: end, event: null }
  return { at: facts.atTime ?? end, event: null }
}

/** A running position that the log does not hold any more, or that it has changed behind (M-71, M-72). */
export function outOfRange(facts: {
  position: bigint
  logStart: bigint
  highWatermark: bigint
  /** Where the logs part, when the source says so. */
  diverged: bigint | null
  gaps: Gaps
}): Placed {
  const { position, logStart, highWatermark, diverged } = facts
  if (diverged !== null && diverged < position) {
    const event = { code: 'source-truncated', from: diverged, to: position } as const
    if (diverged < logStart) return placed(logStart, event, facts.gaps)
    return placed(diverged, event, facts.gaps)
  }
  return insideLog(position, logStart, highWatermark, facts.gaps)
}

function insideLog(position: bigint, logStart: bigint, highWatermark: bigint, gaps: Gaps): Placed {
  if (position < logStart) return placed(logStart, { code: 'source-gap', from: position, to: logStart }, gaps)
  if (position > highWatermark) {
    return placed(highWatermark, { code: 'source-truncated', from: highWatermark, to: position }, gaps)
  }
  return { at: position, event: null }
}

function placed(at: bigint, event: PositionEvent, gaps: Gaps): Placed {
  return gaps === 'stop' ? { error: event.code } : { at, event }
}

function known(offset: bigint | null): offset is bigint {
  return offset !== null && offset >= 0n
}

/** Ids of topics older than ids are not known, and match any (M-70). */
export function otherTopic(a: TopicId, b: TopicId): boolean {
  return a !== '' && b !== '' && a !== b
}
