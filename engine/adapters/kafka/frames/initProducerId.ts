import { Reader, Writer } from '../wire.ts'
import type { Api } from './api.ts'

export type InitProducerIdQuestion = {
  transactionalId: string | null
  timeoutMs: number
  /** −1, −1 = a new one. */
  producerId: bigint
  producerEpoch: number
}
export type InitProducerIdAnswer = { throttleMs: number; error: number; producerId: bigint; producerEpoch: number }

/** Version 6 would bring two-phase commit, which we do not speak. */
export const initProducerIdApi: Api<InitProducerIdQuestion, InitProducerIdAnswer> = {
  key: 22,
  name: 'InitProducerId',
  min: 3,
  max: 5,

  encode(_version, question) {
    const w = new Writer(128)
    w.str(question.transactionalId).i32(question.timeoutMs).i64(question.producerId).i16(question.producerEpoch)
    return w.tags().done()
  },

  decode(_version, body) {
    const r = new Reader(body)
    const answer = { throttleMs: r.i32(), error: r.i16(), producerId: r.i64(), producerEpoch: r.i16() }
    r.tags()
    return answer
  },
}
