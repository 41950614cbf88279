import { Reader, Writer } from '../wire.ts'
import type { Api } from './api.ts'

export type CommitTopic = {
  topic: string
  partitions: { partition: number; offset: bigint; leaderEpoch: number; metadata: string | null }[]
}
/** The answer of all APIs that say one error a partition. */
export type PartitionErrors = {
  throttleMs: number
  topics: { topic: string; partitions: { partition: number; error: number }[] }[]
}

/** For groups without members: generation −1, member "" (W-62). Higher versions drop topic names. */
export const offsetCommitApi: Api<{ group: string; topics: CommitTopic[] }, PartitionErrors> = {
  key: 8,
  name: 'OffsetCommit',
  min: 8,
  max: 9,

  encode(_version, question) {
    const w = new Writer()
    w.str(question.group).i32(-1).str('').str(null)
    writeCommits(w, question.topics)
    return w.tags().done()
  },

  decode: (_version, body) => readPartitionErrors(body),
}

export function writeCommits(w: Writer, topics: CommitTopic[]): void {
  w.array(topics, t => {
    w.str(t.topic)
    w.array(t.partitions, p => {
      w.i32(p.partition).i64(p.offset).i32(p.leaderEpoch).str(p.metadata).tags()
    }).tags()
  })
}

export function readPartitionErrors(body: Buffer): PartitionErrors {
  const r = new Reader(body)
  const throttleMs = r.i32()
  const topics =
    r.array(() => {
      const topic = r.str() ?? ''
      const partitions =
        r.array(() => {
          const one = { partition: r.i32(), error: r.i16() }
          r.tags()
          return one
        }) ?? []
      r.tags()
      return { topic, partitions }
    }) ?? []
  r.tags()
  return { throttleMs, topics }
}
