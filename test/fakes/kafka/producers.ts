import type { Header } from '../../../engine/batch/header.ts'
import { nextSequence } from '../../../engine/batch/sequence.ts'

export type AppendAnswer = { error: number; baseOffset: bigint }
type Seen = { first: number; last: number; count: number; baseOffset: bigint }
type State = { epoch: number; seen: Seen[] }

/** A broker remembers so many batches of a producer (W-51). */
const rememberedMax = 5

/** What a partition knows of its idempotent producers, as Kafka's ProducerStateManager (KAFKA-CLIENT W-50 to W-52). */
export class Producers {
  readonly #states = new Map<bigint, State>()

  /** Is the batch the next one of its producer, a repeat, or out of order? `end` = where it would lie. */
  take(header: Header, end: bigint): AppendAnswer {
    if (header.producerId < 0n) return { error: 0, baseOffset: end }
    const state = this.#states.get(header.producerId)
    const first = header.baseSequence
    const count = header.lastOffsetDelta + 1
    const last = (first + count - 1) % 2 ** 31
    if (state && header.producerEpoch < state.epoch) return { error: 47, baseOffset: -1n }
    if (!state || header.producerEpoch > state.epoch) {
      if (state && first !== 0) return { error: 45, baseOffset: -1n }
      // Nothing is known of this producer: any first sequence is taken.
      this.#states.set(header.producerId, {
        epoch: header.producerEpoch,
        seen: [{ first, last, count, baseOffset: end }],
      })
      return { error: 0, baseOffset: end }
    }
    const repeat = state.seen.find(s => s.first === first && s.last === last)
    if (repeat) return { error: 0, baseOffset: repeat.baseOffset }
    const before = state.seen.at(-1)
    if (before && nextSequence(before.first, before.count) !== first) return { error: 45, baseOffset: -1n }
    state.seen.push({ first, last, count, baseOffset: end })
    if (state.seen.length > rememberedMax) state.seen.shift()
    return { error: 0, baseOffset: end }
  }

  /** What lay behind `to` is lost, and known no more. */
  truncate(to: bigint): void {
    for (const [id, state] of this.#states) {
      state.seen = state.seen.filter(s => s.baseOffset < to)
      if (state.seen.length === 0) this.#states.delete(id)
    }
  }
}
