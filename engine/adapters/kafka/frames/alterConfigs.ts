import { Reader, Writer } from '../wire.ts'
import type { Api } from './api.ts'

/** `value` null = unset (M-25). */
export type AlterConfigsQuestion = { topics: { topic: string; changes: { name: string; value: string | null }[] }[] }
export type AlterConfigsAnswer = {
  throttleMs: number
  topics: { error: number; message: string | null; topic: string }[]
}

const topicResource = 2
const opSet = 0
const opUnset = 1

export const incrementalAlterConfigsApi: Api<AlterConfigsQuestion, AlterConfigsAnswer> = {
  key: 44,
  name: 'IncrementalAlterConfigs',
  min: 1,
  max: 1,

  encode(_version, question) {
    const w = new Writer()
    w.array(question.topics, t => {
      w.i8(topicResource).str(t.topic)
      w.array(t.changes, c => {
        w.str(c.name)
          .i8(c.value === null ? opUnset : opSet)
          .str(c.value)
          .tags()
      }).tags()
    })
    return w.bool(false).tags().done()
  },

  decode(_version, body) {
    const r = new Reader(body)
    const throttleMs = r.i32()
    const topics =
      r.array(() => {
        const error = r.i16()
        const message = r.str()
        r.i8()
        const one = { error, message, topic: r.str() ?? '' }
        r.tags()
        return one
      }) ?? []
    r.tags()
    return { throttleMs, topics }
  },
}
