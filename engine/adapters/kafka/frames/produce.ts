import { Reader, Writer } from '../wire.ts'
import type { Api, Endpoint, LeaderHint } from './api.ts'
import { readEndpoints, readLeader } from './fetch.ts'

export type ProduceQuestion = {
  transactionalId: string | null
  timeoutMs: number
  topics: { topic: string; topicId: string; partitions: { partition: number; records: Buffer }[] }[]
}
export type ProducedPartition = {
  partition: number
  error: number
  baseOffset: bigint
  appendTimeMs: bigint
  logStart: bigint
  recordErrors: { batchIndex: number; message: string | null }[]
  message: string | null
  leader: LeaderHint | null
}
export type ProduceAnswer = {
  /** `topic` below version 13, `topicId` from 13 on; the other is null. */
  topics: { topic: string | null; topicId: string | null; partitions: ProducedPartition[] }[]
  throttleMs: number
  endpoints: Endpoint[]
}

/** acks −1: all in-sync replicas (W-50). The records are parts of their own, not copied. */
export const produceApi: Api<ProduceQuestion, ProduceAnswer> = {
  key: 0,
  name: 'Produce',
  min: 9,
  max: 13,

  encode(version, question) {
    const w = new Writer(512)
    w.str(question.transactionalId).i16(-1).i32(question.timeoutMs)
    w.array(question.topics, t => {
      if (version >= 13) w.uuid(t.topicId)
      else w.str(t.topic)
      w.array(t.partitions, p => {
        w.i32(p.partition).raw(p.records).tags()
      }).tags()
    })
    return w.tags().done()
  },

  decode(version, body) {
    const r = new Reader(body)
    const topics =
      r.array(() => {
        const topicId = version >= 13 ? r.uuid() : null
        const topic = version >= 13 ? null : (r.str() ?? '')
        const partitions = r.array(() => producedPartition(r)) ?? []
        r.tags()
        return { topic, topicId, partitions }
      }) ?? []
    const throttleMs = r.i32()
    let endpoints: Endpoint[] = []
    r.tags({
      0: () => {
        endpoints = readEndpoints(r)
      },
    })
    return { topics, throttleMs, endpoints }
  },
}

function producedPartition(r: Reader): ProducedPartition {
  const produced: ProducedPartition = {
    partition: r.i32(),
    error: r.i16(),
    baseOffset: r.i64(),
    appendTimeMs: r.i64(),
    logStart: r.i64(),
    recordErrors:
      r.array(() => {
        const one = { batchIndex: r.i32(), message: r.str() }
        r.tags()
        return one
      }) ?? [],
    message: r.str(),
    leader: null,
  }
  r.tags({
    0: () => {
      produced.leader = readLeader(r)
    },
  })
  return produced
}
