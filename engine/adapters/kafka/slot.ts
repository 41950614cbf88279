import { MillraceError } from '../../errors.ts'
import {
  backOffMs,
  linkBackOff,
  reauthSpreadMs,
  sessionSwapJitter,
  sessionSwapShare,
  unitBackOff,
} from '../../limits.ts'
import type { Chance, Clock } from '../../ports/clock.ts'
import type { Trouble } from '../../ports/kafka.ts'
import type { Link } from './link.ts'

export type SlotFault = { error: MillraceError; sinceMs: number; tries: number; nextTryMs: number }

/**
 * The place of one link to one broker (KAFKA-CLIENT W-20): opens it on first need, opens it anew on the `link` curve,
 * and replaces it before its session ends (W-23): the second link stands before the first is given up.
 */
export class LinkSlot {
  readonly #connect: () => Promise<Link>
  readonly #clock: Clock
  readonly #chance: Chance
  readonly #quietSwap: boolean
  readonly #onReady: () => void
  readonly #onFault: (fault: SlotFault) => void
  #link: Link | null = null
  #next: Link | null = null
  #connecting = false
  #closed = false
  #fault: SlotFault | null = null
  /** The session's swap, or a try that waits for its back-off. */
  #cancelTimer: (() => void) | null = null
  #tries = 0
  /** Of a swap: the present link's good answers say nothing of the second login. */
  #swapTries = 0
  #openedMs = 0
  swaps = 0

  /**
   * `quietSwap`: the new link is used only when the old has no request open (`send`: a batch on a new link must not
   * overtake those on the old one). `onReady`: a link is there, or fit for use again.
   */
  constructor(how: {
    connect: () => Promise<Link>
    clock: Clock
    chance: Chance
    quietSwap: boolean
    onReady: () => void
    onFault: (fault: SlotFault) => void
  }) {
    this.#connect = how.connect
    this.#clock = how.clock
    this.#chance = how.chance
    this.#quietSwap = how.quietSwap
    this.#onReady = how.onReady
    this.#onFault = how.onFault
  }

  get fault(): SlotFault | null {
    return this.#fault
  }

  /** No link, and none is being opened before the back-off has passed. */
  get waits(): boolean {
    return this.#link === null && !this.#connecting && this.#cancelTimer !== null
  }

  /** The link to write to now, or null; then it is being opened, or waits, and `onReady` or `onFault` will be called. */
  use(): Link | null {
    if (this.#closed) return null
    if (this.#next) return this.#swapped()
    if (this.#link) return this.#link
    if (!this.#connecting && !this.#cancelTimer) this.#open()
    return null
  }

  /** The present link, also one that must not be written to during a swap. */
  get present(): Link | null {
    return this.#link
  }

  /** A good answer came: the back-off starts anew (W-24). */
  good(): void {
    this.#fault = null
    this.#tries = 0
  }

  /** W-70: the link is reset at once. */
  cut(): void {
    this.#link?.end(null, true)
  }

  close(): void {
    this.#closed = true
    this.#cancelTimer?.()
    this.#link?.end(null)
    this.#next?.end(null)
  }

  #swapped(): Link | null {
    const old = this.#link
    if (old && this.#quietSwap && old.open > 0) return null
    const link = this.#next
    this.#link = link
    this.#next = null
    this.#swapTries = 0
    this.swaps++
    if (link) this.#watch(link)
    void old?.close()
    return this.#link
  }

  #open(): void {
    this.#connecting = true
    this.#connect().then(
      link => {
        this.#connecting = false
        if (this.#closed) return link.end(null)
        if (this.#link) this.#prepareSwap(link)
        else {
          this.#cancelTimer?.()
          this.#cancelTimer = null
          this.#link = link
          this.#watch(link)
        }
        this.#onReady()
      },
      (cause: unknown) => {
        this.#connecting = false
        if (this.#closed) return
        const error = cause instanceof MillraceError ? cause : unreachable(cause)
        this.#failed(error)
      },
    )
  }

  /** The swap comes at once, or when the first link has no request open: a link that waited for work would age too. */
  #prepareSwap(link: Link): void {
    this.#next = link
    link.onClose(fault => {
      if (this.#next !== link) return
      this.#next = null
      if (this.#link && !this.#closed) this.#failed(fault ?? unreachable(`${link.name}: the broker closed the link`))
    })
    if (!this.#quietSwap) this.use()
    else
      void this.#link?.drained().then(() => {
        this.use()
        this.#onReady()
      })
  }

  #watch(link: Link): void {
    this.#openedMs = this.#clock.nowMs()
    link.onClose(fault => {
      if (this.#link !== link) return
      this.#link = null
      this.#cancelTimer?.()
      this.#cancelTimer = null
      if (this.#closed) return
      // A close while nothing is open is no fault (W-24); a broker that does it at once would make us spin.
      const early = this.#clock.nowMs() - this.#openedMs < linkBackOff.firstMs
      if (this.#next) this.#onReady()
      else if (fault) this.#failed(fault)
      else if (early) this.#failed(unreachable(`${link.name}: the broker closed the link at once`))
      else this.#onReady()
    })
    if (this.#link !== link) return
    let plannedMs = Number.POSITIVE_INFINITY
    if (link.sessionEndsAtMs !== null) {
      const left = link.sessionEndsAtMs - this.#clock.nowMs()
      const share = sessionSwapShare * (1 - sessionSwapJitter * this.#chance())
      plannedMs = this.#clock.nowMs() + Math.max(0, left * share)
      this.#swapAt(link, plannedMs)
    }
    // K-55: each link at a moment of its own, and not later than it would have been anyway.
    link.onOutdated(() => {
      if (this.#link !== link || this.#closed) return
      const now = this.#clock.nowMs()
      this.#swapAt(link, now + this.#chance() * Math.min(reauthSpreadMs, Math.max(0, plannedMs - now)))
    })
  }

  #swapAt(link: Link, atMs: number): void {
    this.#cancelTimer?.()
    this.#cancelTimer = this.#clock.after(atMs - this.#clock.nowMs(), () => {
      this.#cancelTimer = null
      if (!this.#closed && this.#link === link && !this.#connecting && !this.#next) this.#open()
    })
  }

  /**
   * While a swap is prepared the present link goes on working, so nobody is told. Without a link the owner is told
   * when the back-off has passed: it opens one with `use` if it still needs one.
   */
  #failed(error: MillraceError): void {
    const now = this.#clock.nowMs()
    const tries = this.#link ? ++this.#swapTries : ++this.#tries
    // What somebody has to mend, a refused login first, is tried with fresh credentials, but not ten times a second (§5: wait).
    const wait = backOffMs(error.retryable ? linkBackOff : unitBackOff, tries, this.#chance)
    this.#cancelTimer?.()
    this.#cancelTimer = this.#clock.after(wait, () => {
      this.#cancelTimer = null
      if (this.#closed || this.#connecting) return
      if (this.#link) this.#open()
      else this.#onReady()
    })
    if (this.#link) return
    this.#fault = { error, sinceMs: this.#fault?.sinceMs ?? now, tries: this.#tries, nextTryMs: now + wait }
    this.#onFault(this.#fault)
  }
}

function unreachable(cause: unknown): MillraceError {
  return new MillraceError('kafka-unreachable', String(cause), { retryable: true, cause })
}

/** What a stream or lane says of a fault of its link or cluster (W-76). */
export function troubleOf(fault: Omit<SlotFault, 'nextTryMs'>, nextTryMs: number): Trouble {
  const { error, sinceMs, tries } = fault
  return { code: error.code, kafka: error.kafka, message: error.message, sinceMs, tries, nextTryMs }
}
