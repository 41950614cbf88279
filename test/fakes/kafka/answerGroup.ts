import type { Buffer } from 'node:buffer'
import { Writer } from '../../../engine/adapters/kafka/wire.ts'
import type { Request } from './broker.ts'
import type { FakeState } from './state.ts'

/** Kafka's offset.metadata.max.bytes. */
const metadataBytesMax = 4096

/** Broker 0 keeps the offsets of all groups. */
export function answerCoordinator(request: Request, firstPort: number): Buffer[] {
  const r = request.body
  r.i8()
  const keys = r.array(() => r.str() ?? '') ?? []
  const w = new Writer().i32(0)
  w.array(keys, key => {
    w.str(key).i32(0).str('fake').i32(firstPort).i16(0).str(null).tags()
  })
  return w.tags().done()
}

export function answerCommit(state: FakeState, request: Request): Buffer[] {
  const r = request.body
  const name = r.str() ?? ''
  r.i32()
  r.str()
  r.str()
  const group = state.groups.get(name) ?? new Map()
  state.groups.set(name, group)
  const topics =
    r.array(() => {
      const topic = r.str() ?? ''
      const partitions =
        r.array(() => {
          const partition = r.i32()
          const stored = { offset: r.i64(), epoch: r.i32(), metadata: r.str() ?? '' }
          r.tags()
          const error = !state.topics.get(topic)?.partitions[partition]
            ? 3
            : stored.metadata.length > metadataBytesMax
              ? 12
              : 0
          if (error === 0) group.set(`${topic}/${partition}`, stored)
          return { partition, error }
        }) ?? []
      r.tags()
      return { topic, partitions }
    }) ?? []
  const w = new Writer().i32(0)
  w.array(topics, t => {
    w.str(t.topic)
    w.array(t.partitions, p => {
      w.i32(p.partition).i16(p.error).tags()
    }).tags()
  })
  return w.tags().done()
}

export function answerOffsets(state: FakeState, request: Request): Buffer[] {
  const r = request.body
  const groups =
    r.array(() => {
      const group = r.str() ?? ''
      const stored = state.groups.get(group) ?? new Map()
      const asked = r.array(() => {
        const topic = r.str() ?? ''
        const partitions = r.array(() => r.i32()) ?? []
        r.tags()
        return { topic, partitions }
      })
      r.tags()
      return { group, stored, topics: asked ?? topicsOf([...stored.keys()]) }
    }) ?? []
  const w = new Writer().i32(0)
  w.array(groups, g => {
    w.str(g.group)
    w.array(g.topics, t => {
      w.str(t.topic)
      w.array(t.partitions, partition => {
        const one = g.stored.get(`${t.topic}/${partition}`) ?? { offset: -1n, epoch: -1, metadata: '' }
        w.i32(partition).i64(one.offset).i32(one.epoch).str(one.metadata).i16(0).tags()
      }).tags()
    })
    w.i16(0).tags()
  })
  return w.tags().done()
}

function topicsOf(keys: string[]): { topic: string; partitions: number[] }[] {
  const topics = new Map<string, number[]>()
  for (const key of keys) {
    const slash = key.lastIndexOf('/')
    const topic = key.slice(0, slash)
    topics.set(topic, [...(topics.get(topic) ?? []), Number(key.slice(slash + 1))])
  }
  return [...topics].map(([topic, partitions]) => ({ topic, partitions }))
}
