import { MillraceError } from '../../errors.ts'
import { controlInFlightMax, controlTimeoutMs } from '../../limits.ts'
import type { Chance, Clock } from '../../ports/clock.ts'
import type { Api } from './frames/api.ts'
import type { Link } from './link.ts'
import { LinkSlot, type SlotFault } from './slot.ts'

type Waiter = { go(link: Link): void; fail(error: MillraceError): void }

/** The `control` link to one broker: metadata, offsets, producer ids; at most 5 requests open (W-20). */
export class ControlLink {
  readonly #slot: LinkSlot
  readonly #waiting: Waiter[] = []
  #closed = false

  constructor(how: { connect: () => Promise<Link>; clock: Clock; chance: Chance }) {
    this.#slot = new LinkSlot({
      ...how,
      quietSwap: false,
      onReady: () => this.#serve(),
      onFault: fault => this.#giveUp(fault.error),
    })
  }

  get fault(): SlotFault | null {
    return this.#slot.fault
  }

  /**
   * Rejects with a MillraceError: of the link, or of the login when the link cannot be opened now. `mayWrite` is asked
   * in the turn of the write (W-70); false rejects too, retryable.
   */
  ask<Question, Answer>(
    api: Api<Question, Answer>,
    question: Question,
    mayWrite: () => boolean = () => true,
  ): Promise<Answer> {
    if (this.#closed) return Promise.reject(closed())
    return new Promise((resolve, reject) => {
      const go = (link: Link) => {
        if (!mayWrite())
          return reject(new MillraceError('kafka-unreachable', `${link.name}: not now`, { retryable: true }))
        return link.ask(api, question, { timeoutMs: controlTimeoutMs }).then(
          reply => {
            this.#slot.good()
            resolve(reply.answer)
            this.#serve()
          },
          (error: unknown) => {
            reject(error)
            this.#serve()
          },
        )
      }
      this.#waiting.push({ go, fail: reject })
      this.#serve()
    })
  }

  cut(): void {
    this.#slot.cut()
  }

  close(): void {
    this.#closed = true
    this.#slot.close()
    this.#giveUp(closed())
  }

  #serve(): void {
    if (this.#waiting.length === 0) return
    const link = this.#slot.use()
    if (!link) {
      // In back-off: callers have their own curve and other brokers; they are told at once.
      const fault = this.#slot.fault
      if (fault && this.#slot.waits) this.#giveUp(fault.error)
      return
    }
    while (link.open < controlInFlightMax && this.#waiting.length > 0) this.#waiting.shift()?.go(link)
  }

  #giveUp(error: MillraceError): void {
    for (const waiter of this.#waiting.splice(0)) waiter.fail(error)
  }
}

function closed(): MillraceError {
  return new MillraceError('kafka-unreachable', 'the link to the broker was given up', { retryable: true })
}
