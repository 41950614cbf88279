import { Reader, Writer } from '../wire.ts'
import type { Api, Endpoint, LeaderHint } from './api.ts'

export type FetchPartition = {
  partition: number
  /** Current leader epoch from Metadata, −1 = not checked. */
  leaderEpoch: number
  offset: bigint
  /** Epoch of the batch before `offset`, −1 = not known (W-43). */
  lastFetchedEpoch: number
  maxBytes: number
}
export type FetchQuestion = {
  maxWaitMs: number
  minBytes: number
  maxBytes: number
  /** 0 = read_uncommitted, 1 = read_committed. */
  isolation: 0 | 1
  rack: string
  topics: { topic: string; topicId: string; partitions: FetchPartition[] }[]
}
export type FetchedPartition = {
  partition: number
  error: number
  highWatermark: bigint
  lastStable: bigint
  logStart: bigint
  aborted: { producerId: bigint; firstOffset: bigint }[] | null
  preferredReplica: number
  records: Buffer | null
  diverging: { epoch: number; endOffset: bigint } | null
  leader: LeaderHint | null
}
export type FetchAnswer = {
  throttleMs: number
  error: number
  sessionId: number
  /** `topic` below version 13, `topicId` from 13 on; the other is null. */
  topics: { topic: string | null; topicId: string | null; partitions: FetchedPartition[] }[]
  endpoints: Endpoint[]
}

/** No fetch sessions (W-41): each request says everything. */
export const fetchApi: Api<FetchQuestion, FetchAnswer> = {
  key: 1,
  name: 'Fetch',
  min: 12,
  max: 17,

  encode(version, question) {
    const w = new Writer(64 + 64 * question.topics.length)
    if (version <= 14) w.i32(-1)
    w.i32(question.maxWaitMs).i32(question.minBytes).i32(question.maxBytes).i8(question.isolation)
    w.i32(0).i32(-1)
    w.array(question.topics, t => {
      if (version >= 13) w.uuid(t.topicId)
      else w.str(t.topic)
      w.array(t.partitions, p => {
        w.i32(p.partition).i32(p.leaderEpoch).i64(p.offset).i32(p.lastFetchedEpoch).i64(-1n).i32(p.maxBytes).tags()
      }).tags()
    })
    return w
      .array([], () => {})
      .str(question.rack)
      .tags()
      .done()
  },

  decode(version, body) {
    const r = new Reader(body)
    const throttleMs = r.i32()
    const error = r.i16()
    const sessionId = r.i32()
    const topics =
      r.array(() => {
        const topicId = version >= 13 ? r.uuid() : null
        const topic = version >= 13 ? null : (r.str() ?? '')
        const partitions = r.array(() => fetchedPartition(r)) ?? []
        r.tags()
        return { topic, topicId, partitions }
      }) ?? []
    let endpoints: Endpoint[] = []
    r.tags({
      0: () => {
        endpoints = readEndpoints(r)
      },
    })
    return { throttleMs, error, sessionId, topics, endpoints }
  },
}

function fetchedPartition(r: Reader): FetchedPartition {
  const fetched: FetchedPartition = {
    partition: r.i32(),
    error: r.i16(),
    highWatermark: r.i64(),
    lastStable: r.i64(),
    logStart: r.i64(),
    aborted: r.array(() => {
      const entry = { producerId: r.i64(), firstOffset: r.i64() }
      r.tags()
      return entry
    }),
    preferredReplica: r.i32(),
    records: r.bytes(),
    diverging: null,
    leader: null,
  }
  r.tags({
    0: () => {
      fetched.diverging = { epoch: r.i32(), endOffset: r.i64() }
      r.tags()
    },
    1: () => {
      fetched.leader = readLeader(r)
    },
  })
  return fetched
}

/** Fetch and Produce name a moved leader alike. */
export function readLeader(r: Reader): LeaderHint {
  const leader = { id: r.i32(), epoch: r.i32() }
  r.tags()
  return leader
}

export function readEndpoints(r: Reader): Endpoint[] {
  return (
    r.array(() => {
      const endpoint = { id: r.i32(), host: r.str() ?? '', port: r.i32() }
      r.str()
      r.tags()
      return endpoint
    }) ?? []
  )
}
