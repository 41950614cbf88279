import type { Buffer } from 'node:buffer'
import { Writer } from '../../../engine/adapters/kafka/wire.ts'
import type { Request } from './broker.ts'
import type { FakeLog } from './log.ts'
import type { FakeState } from './state.ts'

export function answerMetadata(state: FakeState, request: Request, firstPort: number): Buffer[] {
  const r = request.body
  const names = r.array(() => {
    r.uuid()
    const name = r.str() ?? ''
    r.tags()
    return name
  }) ?? [...state.topics.keys()]
  const w = new Writer().i32(0)
  w.array([...Array(state.brokers).keys()], id => {
    w.i32(id)
      .str('fake')
      .i32(firstPort + id)
      .str(null)
      .tags()
  })
  w.str(state.clusterId).i32(0)
  w.array(names, name => {
    const topic = state.topics.get(name)
    w.i16(topic ? 0 : 3)
      .str(name)
      .uuid(topic?.topicId ?? '')
      .bool(false)
    w.array([...(topic?.partitions ?? []).entries()], ([partition, place]) => {
      w.i16(0).i32(partition).i32(place.leader).i32(place.log.epoch)
      for (const ids of [[place.leader], [place.leader], []]) w.array(ids, id => w.i32(id))
      w.tags()
    })
    w.i32(0).tags()
  })
  if (request.version === 10) w.i32(0)
  return w.tags().done()
}

export function answerListOffsets(state: FakeState, request: Request): Buffer[] {
  const r = request.body
  r.i32()
  const committed = r.i8() === 1
  const topics =
    r.array(() => {
      const topic = r.str() ?? ''
      const partitions =
        r.array(() => {
          const asked = { partition: r.i32(), epoch: r.i32(), timeMs: r.i64() }
          r.tags()
          const log = state.topics.get(topic)?.partitions[asked.partition]?.log
          return { ...asked, error: log ? 0 : 3, offset: log ? offsetAt(log, asked.timeMs, committed) : -1n }
        }) ?? []
      r.tags()
      return { topic, partitions }
    }) ?? []
  const w = new Writer().i32(0)
  w.array(topics, t => {
    w.str(t.topic)
    w.array(t.partitions, p => {
      w.i32(p.partition).i16(p.error).i64(-1n).i64(p.offset).i32(-1).tags()
    }).tags()
  })
  return w.tags().done()
}

/** By time: the first batch whose newest record is not older; the fake does not look into batches. */
function offsetAt(log: FakeLog, timeMs: bigint, committed: boolean): bigint {
  if (timeMs === -1n) return committed ? log.lastStable : log.end
  if (timeMs === -2n) return log.logStart
  return log.batches.find(kept => kept.header.maxTimestamp >= timeMs)?.header.baseOffset ?? -1n
}
