import type { Fault } from '../../errors.ts'
import type { OffsetsWish } from '../../flow/contract.ts'

/** Null: no answer, or of `atTime` no record so new. */
export type TargetFacts = {
  unit: string
  logStart: bigint | null
  /** Where `latest` is: the last stable offset, or with `read_uncommitted` the end. */
  end: bigint | null
  atTime: bigint | null
  /** Kafka's error number of the answer for the time, 0 = none. */
  atTimeCode: number
}

/** Where people want a checkpoint (M-94): inside of the log, or why not. */
export function offsetTarget(to: OffsetsWish['to'], facts: TargetFacts): { at: bigint } | { fault: Fault } {
  const { unit, logStart, end, atTime, atTimeCode } = facts
  if (logStart === null || end === null || atTimeCode !== 0) {
    const message = `${unit}: the source does not tell where its log begins and ends now`
    return { fault: { code: 'kafka-unreachable', message, hint: 'ask again when it has a leader' } }
  }
  if (to === 'earliest') return { at: logStart }
  if (to === 'latest') return { at: end }
  if ('timeMs' in to) return { at: atTime ?? end }
  if (to.offset >= logStart && to.offset <= end) return { at: to.offset }
  const message = `${unit}: offset ${to.offset} is outside of its log, which is ${logStart} to ${end}`
  const hint = 'an offset inside of it, earliest, latest or a time'
  return { fault: { code: 'request-invalid', message, hint } }
}
