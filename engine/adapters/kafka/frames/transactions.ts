import { Reader, Writer } from '../wire.ts'
import type { Api } from './api.ts'
import { type CommitTopic, type PartitionErrors, readPartitionErrors, writeCommits } from './offsetCommit.ts'

/** Who a transactional request is from (W-60). */
export type Owner = { transactionalId: string; producerId: bigint; producerEpoch: number }

export type AddPartitionsQuestion = Owner & { topics: { topic: string; partitions: number[] }[] }
/** Only with transactions V1; versions from 4 on are for brokers. */
export const addPartitionsToTxnApi: Api<AddPartitionsQuestion, PartitionErrors> = {
  key: 24,
  name: 'AddPartitionsToTxn',
  min: 3,
  max: 3,

  encode(_version, question) {
    const w = owned(question)
    w.array(question.topics, t => {
      w.str(t.topic)
      w.array(t.partitions, p => {
        w.i32(p)
      }).tags()
    })
    return w.tags().done()
  },

  decode: (_version, body) => readPartitionErrors(body),
}

/** Only with transactions V1. */
export const addOffsetsToTxnApi: Api<Owner & { group: string }, { throttleMs: number; error: number }> = {
  key: 25,
  name: 'AddOffsetsToTxn',
  min: 3,
  max: 3,

  encode: (_version, question) => owned(question).str(question.group).tags().done(),

  decode(_version, body) {
    const r = new Reader(body)
    const answer = { throttleMs: r.i32(), error: r.i16() }
    r.tags()
    return answer
  },
}

export type EndTxnAnswer = {
  throttleMs: number
  error: number
  /** From version 5 on: the producer id and epoch of the next transaction; else null. */
  next: { producerId: bigint; producerEpoch: number } | null
}
/** Version 5 only with transactions V2. */
export const endTxnApi: Api<Owner & { commit: boolean }, EndTxnAnswer> = {
  key: 26,
  name: 'EndTxn',
  min: 3,
  max: 5,

  encode: (_version, question) => owned(question).bool(question.commit).tags().done(),

  decode(version, body) {
    const r = new Reader(body)
    const head = { throttleMs: r.i32(), error: r.i16() }
    const next = version >= 5 ? { producerId: r.i64(), producerEpoch: r.i16() } : null
    r.tags()
    return { ...head, next }
  },
}

export type TxnOffsetCommitQuestion = Owner & { group: string; topics: CommitTopic[] }
export const txnOffsetCommitApi: Api<TxnOffsetCommitQuestion, PartitionErrors> = {
  key: 28,
  name: 'TxnOffsetCommit',
  min: 3,
  max: 5,

  encode(_version, question) {
    const w = new Writer()
    w.str(question.transactionalId).str(question.group).i64(question.producerId).i16(question.producerEpoch)
    w.i32(-1).str('').str(null)
    writeCommits(w, question.topics)
    return w.tags().done()
  },

  decode: (_version, body) => readPartitionErrors(body),
}

function owned(question: Owner): Writer {
  return new Writer(256).str(question.transactionalId).i64(question.producerId).i16(question.producerEpoch)
}
