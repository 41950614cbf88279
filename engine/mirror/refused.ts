import { MillraceError } from '../errors.ts'
import { unlessAborted } from '../flow/unlessAborted.ts'
import { takeBack } from '../flow/window.ts'
import { afterRefused } from './decide/afterRefused.ts'
import { type CopyContext, type Failure, halt, type Run, type Sent, type Unit } from './run.ts'

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
  const limitBytes = await limitOf(unit, code, ctx)
  const after = afterRefused({ code, message, limitBytes, ...factsOf(unit, tag) })
  if (after === 'again') unit.damaged.tries++
  else if (after === 'alone') {
    unit.aloneTo = tag.next
    // So that those that are joined behind it are not refused too.
    if (limitBytes !== null && limitBytes < tag.bytes) unit.bytesMax = limitBytes
  } else if (after === 'split') unit.bytesMax = smallerThan(tag.bytes, limitBytes)
  else throw new MillraceError(after.code, after.message, { hint: after.hint, kafka: code })
}

/**
 * The lane stands behind what was refused. Nothing of it is in the log, so its sequence is free for what goes in its
 * place: the producer stays, where nothing behind it was written (W-73).
 */
export function letGoRefused({ lane, failure }: Run): void {
  if (failure?.is !== 'refused') return
  lane.recall()
  lane.instead([])
}

function factsOf({ part, damaged }: Unit, { from: offset, records, bytes, path }: Sent) {
  const kind = { isJoined: path === 'join', isCompressed: path === 'compress' }
  return { ...part, ...kind, offset, records, bytes, damagedTries: damaged.tries }
}

/** Half of what it did not take, when the destination says nothing that helps (M-37). */
function smallerThan(refusedBytes: number, said: number | null): number {
  return said !== null && said < refusedBytes ? said : Math.floor(refusedBytes / 2)
}

/** What the destination says that it takes, where that is what it refused (M-37); null = not known. */
async function limitOf(unit: Unit, code: number, ctx: CopyContext): Promise<number | null> {
  const setting = limitSettings.get(code)
  if (setting === undefined) return null
  const said = await unlessAborted(settingOf(unit, setting, ctx), ctx.stop)
  return said !== null && said > 0 ? said : null
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

/** Of the destination topic, by the error that it is refused with. */
const limitSettings = new Map([
  [10, 'max.message.bytes'],
  [18, 'segment.bytes'],
])
