import { Reader, Writer } from '../wire.ts'
import type { Api } from './api.ts'

/** `timeMs` −1 = end (the last stable offset under isolation 1), −2 = start, else the first record at or after it. */
export type ListOffsetsQuestion = {
  isolation: 0 | 1
  topics: { topic: string; partitions: { partition: number; leaderEpoch: number; timeMs: bigint }[] }[]
}
export type ListOffsetsAnswer = {
  throttleMs: number
  topics: {
    topic: string
    partitions: { partition: number; error: number; timeMs: bigint; offset: bigint; leaderEpoch: number }[]
  }[]
}

export const listOffsetsApi: Api<ListOffsetsQuestion, ListOffsetsAnswer> = {
  key: 2,
  name: 'ListOffsets',
  min: 6,
  max: 7,

  encode(_version, question) {
    const w = new Writer()
    w.i32(-1).i8(question.isolation)
    w.array(question.topics, t => {
      w.str(t.topic)
      w.array(t.partitions, p => {
        w.i32(p.partition).i32(p.leaderEpoch).i64(p.timeMs).tags()
      }).tags()
    })
    return w.tags().done()
  },

  decode(_version, body) {
    const r = new Reader(body)
    const throttleMs = r.i32()
    const topics =
      r.array(() => {
        const topic = r.str() ?? ''
        const partitions =
          r.array(() => {
            const found = {
              partition: r.i32(),
              error: r.i16(),
              timeMs: r.i64(),
              offset: r.i64(),
              leaderEpoch: r.i32(),
            }
            r.tags()
            return found
          }) ?? []
        r.tags()
        return { topic, partitions }
      }) ?? []
    r.tags()
    return { throttleMs, topics }
  },
}
