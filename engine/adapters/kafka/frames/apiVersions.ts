import { Reader, Writer } from '../wire.ts'
import type { Api } from './api.ts'

export type ApiRange = { key: number; min: number; max: number }
export type ApiVersionsAnswer = {
  error: number
  apis: ApiRange[]
  throttleMs: number
  /** Finalized features by name, such as `transaction.version` (W-60). */
  features: { name: string; min: number; max: number }[]
}

/** The first request of every link: proof that the session is alive (W-22). */
export const apiVersionsApi: Api<{ software: string; version: string }, ApiVersionsAnswer> = {
  key: 18,
  name: 'ApiVersions',
  min: 3,
  max: 3,

  encode(_version, question) {
    return new Writer(64).str(question.software).str(question.version).tags().done()
  },

  decode(_version, body) {
    const error = body.readInt16BE(0)
    if (error !== 0) return { error, apis: [], throttleMs: 0, features: [] }
    const r = new Reader(body, 2)
    const apis =
      r.array(() => {
        const api = { key: r.i16(), min: r.i16(), max: r.i16() }
        r.tags()
        return api
      }) ?? []
    const throttleMs = r.i32()
    let features: ApiVersionsAnswer['features'] = []
    r.tags({
      2: () => {
        features =
          r.array(() => {
            const name = r.str() ?? ''
            const max = r.i16()
            const feature = { name, min: r.i16(), max }
            r.tags()
            return feature
          }) ?? []
      },
    })
    return { error, apis, throttleMs, features }
  },
}
