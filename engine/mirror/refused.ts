import { MillraceError } from '../errors.ts'
import { takeBack } from '../flow/window.ts'
import { afterRefused } from './decide/afterRefused.ts'
import { type Failure, halt, type Run, type Unit } from './run.ts'

/** The lane stands or is dead: the run ends, whatever is behind it in the lane was not taken (W-73). */
export function fail(run: Run, failure: Failure): void {
  run.failure ??= failure
  halt(run)
}

/** What is still open is read again by the next run: the window goes back to its checkpoint. */
export function giveUpOpen(unit: Unit): void {
  const { head } = unit.window
  if (head) takeBack(unit.window, head)
}

/** The error that ends the unit's copy, or null: it is tried again from the checkpoint (M-47). */
export function refusedFault(unit: Unit, failure: Failure): MillraceError | null {
  const { topic, partition } = unit.part
  if (failure.is === 'fenced') {
    const message = `${topic}/${partition}: another process has taken over (Kafka's error ${failure.code})`
    return new MillraceError('unit-fenced', message, { kafka: failure.code })
  }
  const { code, message, tag } = failure
  if (unit.damaged.offset !== tag.from) unit.damaged = { offset: tag.from, tries: 0 }
  const { records, bytes } = tag
  const damagedTries = unit.damaged.tries
  const after = afterRefused({ code, message, offset: tag.from, records, bytes, damagedTries, topic, partition })
  if (after === 'again') {
    unit.damaged.tries++
    return null
  }
  return new MillraceError(after.code, after.message, { hint: after.hint, kafka: code })
}
