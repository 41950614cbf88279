import { Reader, Writer } from '../wire.ts'
import type { Api } from './api.ts'

/** `type` 0 = group, 1 = transaction. */
export type FindCoordinatorQuestion = { type: 0 | 1; keys: string[] }
export type FindCoordinatorAnswer = {
  throttleMs: number
  coordinators: { key: string; node: number; host: string; port: number; error: number; message: string | null }[]
}

export const findCoordinatorApi: Api<FindCoordinatorQuestion, FindCoordinatorAnswer> = {
  key: 10,
  name: 'FindCoordinator',
  min: 4,
  max: 4,

  encode(_version, question) {
    const w = new Writer(128)
    w.i8(question.type).array(question.keys, key => {
      w.str(key)
    })
    return w.tags().done()
  },

  decode(_version, body) {
    const r = new Reader(body)
    const throttleMs = r.i32()
    const coordinators =
      r.array(() => {
        const one = {
          key: r.str() ?? '',
          node: r.i32(),
          host: r.str() ?? '',
          port: r.i32(),
          error: r.i16(),
          message: r.str(),
        }
        r.tags()
        return one
      }) ?? []
    r.tags()
    return { throttleMs, coordinators }
  },
}
