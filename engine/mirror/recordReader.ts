import { dropAborted } from '../batch/aborted.ts'
import type { Codec } from '../batch/codec.ts'
import { nextOffset } from '../batch/header.ts'
import { type KafkaRecord, records } from '../batch/records.ts'
import { type FaultCode, faultCodes, MillraceError } from '../errors.ts'
import { missingRight } from '../flow/missingRight.ts'
import { clusterUnreachableMs, troubleLookMs, troubleShownAfterMs } from '../limits.ts'
import type { Clock } from '../ports/clock.ts'
import type { Answer, BatchSource, Part, Stream, TopicId } from '../ports/kafka.ts'

/** One partition read from `from` to before `to`, as a read_committed reader sees it. */
export type RecordReader<T> = {
  /**
   * The next records with `position`, the offset read next; null at the end. What `see` keeps of a record must be its
   * own: the record's bytes are gone afterwards. Rejects with a MillraceError when the log cannot be read any more,
   * and when nothing answers for 30 s; with the signal's reason when that is aborted.
   */
  next(signal: AbortSignal): Promise<{ seen: T[]; position: bigint } | null>
  close(): void
}

export function readRecords<T>(how: {
  source: BatchSource
  part: Part & { topicId: TopicId }
  from: bigint
  to: bigint
  codec: Codec
  clock: Clock
  see: (record: KafkaRecord) => T
}): RecordReader<T> {
  const { part, to } = how
  let position = how.from
  // An empty range needs no stream.
  let stream: Stream | null = null
  return {
    async next(signal) {
      if (position >= to) return null
      stream ??= how.source.open(part, { offset: position, epoch: -1 })
      const answer = await patiently(stream, part, how.clock, signal)
      if (answer.is !== 'batches') throw unreadable(part, answer)
      const seen: T[] = []
      try {
        const verdicts = dropAborted(answer.batches, answer.aborted)
        for (const [i, batch] of answer.batches.entries()) {
          if (verdicts[i] === 'keep') {
            for (const record of records(batch, how.codec))
              if (record.offset >= position && record.offset < to) seen.push(how.see(record))
          }
          const after = nextOffset(batch.header)
          if (after > position) position = after
        }
      } finally {
        for (const batch of answer.batches) batch.release()
      }
      // Nothing between here and the end: compaction may empty the tail of a log.
      if (answer.batches.length === 0 && answer.lastStable >= to) position = to
      return { seen, position }
    },
    close: () => stream?.close(),
  }
}

/** `next`, but not for ever: a stream waits as long as it must, a command says when it cannot go on. */
async function patiently(stream: Stream, { topic }: Part, clock: Clock, signal: AbortSignal): Promise<Answer> {
  const giveUp = new AbortController()
  let cancel = () => {}
  const look = () => {
    const trouble = stream.trouble()
    // A right that is missing is not given by waiting; of a broker that has just started it may only seem to be missing.
    const isDenied = trouble?.code === 'kafka-not-authorized'
    const patienceMs = isDenied ? troubleShownAfterMs : clusterUnreachableMs
    if (trouble === null || clock.nowMs() - trouble.sinceMs < patienceMs) {
      cancel = clock.after(troubleLookMs, look)
      return
    }
    const code = faultCodes.find(known => known === trouble.code) ?? 'kafka-unreachable'
    const hint = isDenied ? missingRight(`Read on topic ${topic}`) : null
    giveUp.abort(new MillraceError(code, trouble.message, { retryable: true, kafka: trouble.kafka, hint }))
  }
  cancel = clock.after(troubleLookMs, look)
  try {
    return await stream.next(AbortSignal.any([signal, giveUp.signal]))
  } finally {
    cancel()
  }
}

const codeOf: Record<Exclude<Answer['is'], 'batches'>, FaultCode> = {
  'out-of-range': 'source-gap',
  diverged: 'source-truncated',
  recreated: 'topic-recreated',
  corrupt: 'batch-corrupt',
  'too-old': 'kafka-version-unsupported',
}

function unreadable(part: Part, answer: Exclude<Answer, { is: 'batches' }>): MillraceError {
  const at = 'offset' in answer ? ` at offset ${answer.offset}` : ''
  const log = answer.is === 'out-of-range' ? `: the log is now ${answer.logStart} to ${answer.end}` : ''
  return new MillraceError(codeOf[answer.is], `${part.topic}/${part.partition}: ${answer.is}${at}${log}`)
}
