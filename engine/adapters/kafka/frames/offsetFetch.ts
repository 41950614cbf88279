import { Reader, Writer } from '../wire.ts'
import type { Api } from './api.ts'

/** `topics` null = all that the group has. */
export type OffsetFetchQuestion = {
  groups: { group: string; topics: { topic: string; partitions: number[] }[] | null }[]
  requireStable: boolean
}
export type OffsetFetchAnswer = {
  throttleMs: number
  groups: {
    group: string
    topics: {
      topic: string
      /** offset −1 = none stored. */
      partitions: { partition: number; offset: bigint; leaderEpoch: number; metadata: string | null; error: number }[]
    }[]
    error: number
  }[]
}

export const offsetFetchApi: Api<OffsetFetchQuestion, OffsetFetchAnswer> = {
  key: 9,
  name: 'OffsetFetch',
  min: 8,
  max: 8,

  encode(_version, question) {
    const w = new Writer()
    w.array(question.groups, g => {
      w.str(g.group)
      w.array(g.topics, t => {
        w.str(t.topic)
        w.array(t.partitions, p => {
          w.i32(p)
        }).tags()
      }).tags()
    })
    return w.bool(question.requireStable).tags().done()
  },

  decode(_version, body) {
    const r = new Reader(body)
    const throttleMs = r.i32()
    const groups =
      r.array(() => {
        const group = r.str() ?? ''
        const topics = r.array(() => fetchedTopic(r)) ?? []
        const one = { group, topics, error: r.i16() }
        r.tags()
        return one
      }) ?? []
    r.tags()
    return { throttleMs, groups }
  },
}

function fetchedTopic(r: Reader): OffsetFetchAnswer['groups'][number]['topics'][number] {
  const topic = r.str() ?? ''
  const partitions =
    r.array(() => {
      const one = { partition: r.i32(), offset: r.i64(), leaderEpoch: r.i32(), metadata: r.str(), error: r.i16() }
      r.tags()
      return one
    }) ?? []
  r.tags()
  return { topic, partitions }
}
