import type { FaultCode } from '../../errors.ts'
import { damagedTriesMax } from '../../limits.ts'

export type RefusedFacts = {
  code: number
  /** The broker's own text. */
  message: string | null
  offset: bigint
  records: number
  bytes: number
  /** What the destination says that it takes; null = not known. */
  limitBytes: number | null
  /** It was made of several small batches (M-38). */
  isJoined: boolean
  /** Its records section was compressed on the way, which may have made it larger. */
  isCompressed: boolean
  /** How often the destination has called a batch at this offset damaged. */
  damagedTries: number
  topic: string
  partition: number
}
/** `again`: as it was; `alone`: what was joined goes batch by batch; `split`: smaller (M-37). */
export type AfterRefused = 'again' | 'alone' | 'split' | { code: FaultCode; message: string; hint: string | null }

/** What the flow makes of a batch that the destination will not take (M-47). */
export function afterRefused(facts: RefusedFacts): AfterRefused {
  const { code, offset, topic, partition } = facts
  const at = `${topic}/${partition} at source offset ${offset}`
  const text = facts.message === null || facts.message === '' ? `Kafka's error ${code}` : `${facts.message} (${code})`
  if (code === 2 && facts.damagedTries < damagedTriesMax) return 'again'
  if (code !== 100 && facts.isJoined) return 'alone'
  if (code === 2) {
    const hint = 'the batch is whole at the source: look at the network between us and the destination'
    return { code: 'batch-corrupt', message: `${at}: the destination finds the batch damaged: ${text}`, hint }
  }
  if (code === 100) {
    const message = `${topic}/${partition}: the destination topic was deleted and made anew: ${text}`
    return { code: 'destination-recreated', message, hint: null }
  }
  if (code === 10 || code === 18) {
    if (facts.records > 1 || facts.isCompressed) return 'split'
    const limit = facts.limitBytes === null ? 'the destination accepts' : `the ${facts.limitBytes} that it may be`
    const message = `${at}: one record alone makes a batch of ${facts.bytes} bytes, more than ${limit}: ${text}`
    return { code: 'record-too-large', message, hint: hints[code] ?? null }
  }
  const message = `${at}: the destination refuses a batch of ${facts.records} records, ${facts.bytes} bytes: ${text}`
  return { code: 'batch-refused', message, hint: hints[code] ?? null }
}

/** KAFKA-CLIENT §5: the setting to look at. */
const hints: Record<number, string> = {
  10: 'raise max.message.bytes of the destination topic',
  18: 'raise segment.bytes of the destination topic',
  32: 'the destination refuses timestamps more than message.timestamp.after.max.ms (1 h by default) ahead',
  76: 'the destination does not know the codec of the batch: it is older than the source',
  87: 'a record without key in a compacted topic?',
}
