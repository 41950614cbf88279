import { MillraceError } from '../errors.ts'
import { unlessAborted } from '../flow/unlessAborted.ts'
import { takeBack } from '../flow/window.ts'
import { afterRefused } from './decide/afterRefused.ts'
import { type CopyContext, type Failure, halt, type Run, type Unit } from './run.ts'

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

/** Throws what ends the unit's copy; returns when it is tried again from the checkpoint (M-47). */
export async function afterFailure(unit: Unit, failure: Failure, ctx: CopyContext): Promise<void> {
  const { topic, partition } = unit.part
  if (failure.is === 'fenced') {
    const message = `${topic}/${partition}: another process has taken over (Kafka's error ${failure.code})`
    throw new MillraceError('unit-fenced', message, { kafka: failure.code })
  }
  const { code, message, tag } = failure
  if (unit.damaged.offset !== tag.from) unit.damaged = { offset: tag.from, tries: 0 }
  const { from: offset, records, bytes } = tag
  const isJoined = tag.path === 'join'
  const damagedTries = unit.damaged.tries
  const after = afterRefused({ code, message, offset, records, bytes, isJoined, damagedTries, topic, partition })
  if (after === 'again') unit.damaged.tries++
  else if (after === 'alone') unit.aloneTo = tag.next
  else if (after === 'split') unit.bytesMax = await limitOf(unit, code, bytes, ctx)
  else throw new MillraceError(after.code, after.message, { hint: after.hint, kafka: code })
}

/** What the destination says that it takes; half of what it did not take, when it says nothing that helps (M-37). */
async function limitOf(unit: Unit, code: number, refusedBytes: number, ctx: CopyContext): Promise<number> {
  const setting = code === segmentFull ? 'segment.bytes' : 'max.message.bytes'
  const said = await unlessAborted(settingOf(unit, setting, ctx), ctx.stop)
  if (said !== null && said > 0 && said < refusedBytes) return said
  return Math.floor(refusedBytes / 2)
}

async function settingOf(unit: Unit, name: string, ctx: CopyContext): Promise<number | null> {
  const { topic } = unit.destination
  try {
    const configs = (await ctx.destinationAdmin.topicConfigs([topic])).get(topic)
    const value = Number(configs?.find(config => config.name === name)?.value ?? Number.NaN)
    return Number.isSafeInteger(value) ? value : null
  } catch (error) {
    if (error instanceof MillraceError) return null
    throw error
  }
}

/** Kafka's RECORD_LIST_TOO_LARGE. */
const segmentFull = 18
