import { Reader, Writer } from '../wire.ts'
import type { Api } from './api.ts'

export type MetadataQuestion = { topics: string[] | 'all' }
export type MetadataAnswer = {
  throttleMs: number
  brokers: { id: number; host: string; port: number; rack: string | null }[]
  clusterId: string | null
  controller: number
  topics: {
    error: number
    topic: string | null
    topicId: string
    internal: boolean
    partitions: {
      error: number
      partition: number
      leader: number
      leaderEpoch: number
      replicas: number[]
      inSync: number[]
      offline: number[]
    }[]
  }[]
}

/** Never creates topics (M-12). */
export const metadataApi: Api<MetadataQuestion, MetadataAnswer> = {
  key: 3,
  name: 'Metadata',
  min: 10,
  max: 12,

  encode(version, question) {
    const w = new Writer()
    w.array(question.topics === 'all' ? null : question.topics, topic => {
      w.uuid('').str(topic).tags()
    })
    w.bool(false)
    if (version === 10) w.bool(false)
    return w.bool(false).tags().done()
  },

  decode(version, body) {
    const r = new Reader(body)
    const throttleMs = r.i32()
    const brokers =
      r.array(() => {
        const broker = { id: r.i32(), host: r.str() ?? '', port: r.i32(), rack: r.str() }
        r.tags()
        return broker
      }) ?? []
    const clusterId = r.str()
    const controller = r.i32()
    const topics =
      r.array(() => {
        const head = { error: r.i16(), topic: r.str(), topicId: r.uuid(), internal: r.bool() }
        const partitions = r.array(() => partitionOf(r)) ?? []
        r.i32()
        r.tags()
        return { ...head, partitions }
      }) ?? []
    if (version === 10) r.i32()
    r.tags()
    return { throttleMs, brokers, clusterId, controller, topics }
  },
}

function partitionOf(r: Reader): MetadataAnswer['topics'][number]['partitions'][number] {
  const ids = () => r.array(() => r.i32()) ?? []
  const partition = {
    error: r.i16(),
    partition: r.i32(),
    leader: r.i32(),
    leaderEpoch: r.i32(),
    replicas: ids(),
    inSync: ids(),
    offline: ids(),
  }
  r.tags()
  return partition
}
