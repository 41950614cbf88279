import type { MillraceError } from '../../errors.ts'
import { controlInFlightMax, controlTimeoutMs } from '../../limits.ts'
import type { Chance, Clock } from '../../ports/clock.ts'
import type { Api } from './frames/api.ts'
import type { Link } from './link.ts'
import { LinkSlot, type SlotFault } from './slot.ts'

type Waiter = { go: (link: Link) => void; fail: (error: MillraceError) => void }

/** The `control` link to one broker: metadata, offsets, producer ids; at most 5 requests open (W-20). */
export class ControlLink {
  readonly #slot: LinkSlot
  readonly #waiting: Waiter[] = []

  constructor(how: { connect: () => Promise<Link>; clock: Clock; chance: Chance }) {
    this.#slot = new LinkSlot({
      ...how,
      quietSwap: false,
      onReady: () => this.#serve(),
      onFault: fault => {
        for (const waiter of this.#waiting.splice(0)) waiter.fail(fault.error)
      },
    })
  }

  get fault(): SlotFault | null {
    return this.#slot.fault
  }

  /** Rejects with a MillraceError: of the link, or of the login when the link cannot be opened now. */
  async ask<Question, Answer>(api: Api<Question, Answer>, question: Question): Promise<Answer> {
    const link = await this.#ready()
    try {
      const reply = await link.ask(api, question, { timeoutMs: controlTimeoutMs })
      this.#slot.good()
      return reply.answer
    } finally {
      this.#serve()
    }
  }

  cut(): void {
    this.#slot.cut()
  }

  close(): void {
    this.#slot.close()
  }

  #ready(): Promise<Link> {
    return new Promise((go, fail) => {
      this.#waiting.push({ go, fail })
      this.#serve()
    })
  }

  #serve(): void {
    if (this.#waiting.length === 0) return
    const fault = this.#slot.fault
    const link = this.#slot.use()
    if (!link) {
      // In back-off: callers have their own curve and other brokers; they are told at once.
      if (fault) for (const waiter of this.#waiting.splice(0)) waiter.fail(fault.error)
      return
    }
    for (let free = controlInFlightMax - link.open; free > 0; free--) this.#waiting.shift()?.go(link)
  }
}
