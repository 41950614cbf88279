import { answerLateMs, writeLookMs } from '../../limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { FetchedBatch } from './fetchedBatch.ts'
import type { Link } from './link.ts'
import type { MemoryAccount } from './slab.ts'

/**
 * Requests that the kernel has not taken whole: it still reads the batches in them, so they may not move (W-32). A
 * broker that takes a connection and never reads would have whole slabs held for a few batches, until the request's
 * time-out, and partitions of other brokers would wait for that memory. So a link of which the kernel has taken nothing
 * for `answerLateMs` is reset, but only where that gives memory back that somebody waits for. What was under way is
 * sent again with its sequence (W-51); a broker that reads, however slowly, keeps its link.
 */
export class WriteWatch {
  readonly #clock: Clock
  readonly #account: MemoryAccount
  readonly #open = new Set<FetchedBatch[]>()
  #link: Link | null = null
  #unsentBytes = 0
  #tookMs = 0
  #cancel: (() => void) | null = null

  constructor(how: { clock: Clock; account: MemoryAccount }) {
    this.#clock = how.clock
    this.#account = how.account
  }

  /** A request with these batches is being written. The given function says that the kernel has it, or never will. */
  began(link: Link, batches: FetchedBatch[]): () => void {
    for (const batch of batches) batch.pin()
    if (link !== this.#link || this.#open.size === 0) this.#took(link)
    this.#open.add(batches)
    this.#cancel ??= this.#clock.after(writeLookMs, () => this.#look())
    return () => {
      if (!this.#open.delete(batches)) return
      if (link === this.#link) this.#took(link)
      for (const batch of batches) batch.unpin()
    }
  }

  close(): void {
    this.#cancel?.()
  }

  #took(link: Link): void {
    this.#link = link
    this.#unsentBytes = link.unsentBytes
    this.#tookMs = this.#clock.nowMs()
  }

  #look(): void {
    this.#cancel = null
    const link = this.#link
    if (!link?.alive || this.#open.size === 0) return
    if (link.unsentBytes !== this.#unsentBytes) this.#took(link)
    const isLate = this.#clock.nowMs() - this.#tookMs >= answerLateMs
    if (isLate && this.#account.waiting > 0 && this.#holdsSlabs()) {
      return link.reset(
        `the broker has read nothing for ${answerLateMs} ms, and its batches hold memory that others need`,
      )
    }
    this.#cancel = this.#clock.after(writeLookMs, () => this.#look())
  }

  #holdsSlabs(): boolean {
    for (const batches of this.#open) if (batches.some(batch => batch.wanted)) return true
    return false
  }
}
