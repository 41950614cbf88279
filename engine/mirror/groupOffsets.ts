import { MillraceError } from '../errors.ts'
import { missingRight } from '../flow/missingRight.ts'

/** Of offsets that the leader's side could not store: all that it was about are asked for again (C-94). */
export function notStored(refused: readonly { code: string }[], group: string): MillraceError {
  const code = codes.find(known => refused.some(one => one.code === known)) ?? 'kafka-unreachable'
  const message = `the offsets of ${refused.length} partitions cannot be stored in group ${group} at the source`
  return new MillraceError(code, message, { retryable: true, hint: notStoredHint(code, group) })
}

/** Those that somebody has to do something about. */
const codes = ['group-in-use', 'kafka-not-authorized'] as const

/** What to do about it; null = it is tried again. */
export function notStoredHint(code: string, group: string): string | null {
  if (code === 'group-in-use') return `stop the consumer in group ${group} or give the flow another name`
  return code === 'kafka-not-authorized' ? missingRight(`Read on group ${group} and on the topics of the source`) : null
}

/** What a message calls the offsets of a flow. */
export function offsetsIn(group: string): string {
  return `the offsets of group ${group} at the source`
}
