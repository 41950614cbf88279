import { Buffer } from 'node:buffer'
import { Writer } from '../../../engine/adapters/kafka/wire.ts'
import { writeEndpoints, writeLeader } from './answerProduce.ts'
import type { Request } from './broker.ts'
import type { FakeState, FakeTopic } from './state.ts'

type AskedPartition = { partition: number; epoch: number; offset: bigint; lastFetchedEpoch: number; bytesMax: number }
export type FetchAsked = {
  version: number
  maxWaitMs: number
  bytesMax: number
  committed: boolean
  topics: { name: string; topic: FakeTopic | undefined; partitions: AskedPartition[] }[]
}
type Given = {
  partition: number
  error: number
  end: bigint
  lastStable: bigint
  logStart: bigint
  aborted: { producerId: bigint; firstOffset: bigint }[]
  records: Buffer[]
  diverging: { epoch: number; endOffset: bigint } | null
  leader: { id: number; epoch: number } | null
}
type State = Pick<FakeState, 'topics' | 'topicById' | 'brokers' | 'throttleNextFetchMs'>

export function readFetch(request: Request): FetchAsked {
  const { body: r, version } = request
  if (version <= 14) r.i32()
  const maxWaitMs = r.i32()
  r.i32()
  const bytesMax = r.i32()
  const committed = r.i8() === 1
  r.i32()
  r.i32()
  const topics =
    r.array(() => {
      const name = version >= 13 ? r.uuid() : (r.str() ?? '')
      const partitions =
        r.array(() => {
          const asked = { partition: r.i32(), epoch: r.i32(), offset: r.i64(), lastFetchedEpoch: r.i32() }
          r.i64()
          const one = { ...asked, bytesMax: r.i32() }
          r.tags()
          return one
        }) ?? []
      r.tags()
      return { name, topic: undefined, partitions }
    }) ?? []
  return { version, maxWaitMs, bytesMax, committed, topics }
}

/** Nothing to say yet: no records, no error, no diverging log. */
export function fetchWaits(state: State, broker: number, asked: FetchAsked): boolean {
  if (state.throttleNextFetchMs > 0) return false
  for (const topic of asked.topics) {
    topic.topic = asked.version >= 13 ? state.topicById(topic.name) : state.topics.get(topic.name)
    for (const p of topic.partitions) {
      const given = read(topic.topic, broker, p, { asked, room: 1, whole: true, peek: true })
      if (given.error !== 0 || given.diverging || given.records.length > 0) return false
    }
  }
  return true
}

export function answerFetch(state: State, broker: number, asked: FetchAsked): Buffer[] {
  if (state.throttleNextFetchMs > 0) {
    const w = new Writer().i32(state.throttleNextFetchMs).i16(0).i32(0)
    state.throttleNextFetchMs = 0
    return w
      .array([], () => {})
      .tags()
      .done()
  }
  let room = asked.bytesMax
  let nothingYet = true
  const topics = asked.topics.map(topic => ({
    name: topic.name,
    partitions: topic.partitions.map(p => {
      const there = asked.version >= 13 ? state.topicById(topic.name) : state.topics.get(topic.name)
      const given = read(there, broker, p, { asked, room, whole: nothingYet, peek: false })
      const bytes = given.records.reduce((sum, one) => sum + one.length, 0)
      if (bytes > 0) nothingYet = false
      room = Math.max(0, room - bytes)
      return given
    }),
  }))
  const w = new Writer().i32(0).i16(0).i32(0)
  w.array(topics, t => {
    if (asked.version >= 13) w.uuid(t.name)
    else w.str(t.name)
    w.array(t.partitions, p => writeGiven(w, p)).tags()
  })
  const moved = topics.some(t => t.partitions.some(p => p.leader))
  writeEndpoints(w, moved && asked.version >= 16 ? state.brokers : 0)
  return w.done()
}

function writeGiven(w: Writer, p: Given): void {
  w.i32(p.partition).i16(p.error).i64(p.end).i64(p.lastStable).i64(p.logStart)
  w.array(p.aborted, a => {
    w.i64(a.producerId).i64(a.firstOffset).tags()
  })
  w.i32(-1).raw(Buffer.concat(p.records))
  if (!p.diverging) return writeLeader(w, 1, p.leader)
  w.uvarint(1).uvarint(0).uvarint(13).i32(p.diverging.epoch).i64(p.diverging.endOffset).tags()
}

/** One partition's part. `peek`: only whether there is something; no vice is used up. */
function read(
  topic: FakeTopic | undefined,
  broker: number,
  p: AskedPartition,
  how: { asked: FetchAsked; room: number; whole: boolean; peek: boolean },
): Given {
  const place = topic?.partitions[p.partition]
  const bad = (error: number, leader: Given['leader'] = null): Given => ({
    partition: p.partition,
    error,
    end: -1n,
    lastStable: -1n,
    logStart: -1n,
    aborted: [],
    records: [],
    diverging: null,
    leader,
  })
  if (!place) return bad(how.asked.version >= 13 ? 100 : 3)
  const { log } = place
  const leader = { id: place.leader, epoch: log.epoch }
  if (place.leader !== broker) return bad(6, leader)
  if (p.epoch >= 0 && p.epoch < log.epoch) return bad(74, leader)
  if (p.epoch > log.epoch) return bad(75)
  const { offset, lastFetchedEpoch } = p
  const committed = how.asked.committed
  const bytesMax = Math.min(p.bytesMax, how.room)
  const found = log.read({ offset, lastFetchedEpoch, committed, bytesMax, whole: how.whole, peek: how.peek })
  if (found.is === 'out-of-range') return bad(1)
  const { end, lastStable, logStart } = log
  const given = { ...bad(0), end, lastStable, logStart }
  if (found.is === 'diverging') return { ...given, diverging: { epoch: found.epoch, endOffset: found.endOffset } }
  return { ...given, records: found.batches, aborted: found.aborted }
}
