import { slabBytes, slabCopyAfterMs } from '../../limits.ts'
import type { FetchedBatch } from './fetchedBatch.ts'
import type { MemoryAccount } from './slab.ts'

/**
 * Slabs that are held for little: one slow partition must not hold 10 MiB for each of its batches. What has been held
 * longer than a second in a slab that is less than half in use is copied out (KAFKA-CLIENT W-32).
 */
export class SlabWatch {
  readonly #account: MemoryAccount
  readonly #nowMs: () => number
  readonly #after: (ms: number, then: () => void) => () => void
  #slabs: { bornMs: number; batches: FetchedBatch[] }[] = []
  #cancel: (() => void) | null = null

  constructor(how: {
    account: MemoryAccount
    nowMs: () => number
    after: (ms: number, then: () => void) => () => void
  }) {
    this.#account = how.account
    this.#nowMs = how.nowMs
    this.#after = how.after
  }

  /** The batches that were given out of one frame. */
  add(batches: FetchedBatch[]): void {
    if (!batches[0]?.inSlab) return
    this.#slabs.push({ bornMs: this.#nowMs(), batches })
    this.#cancel ??= this.#after(slabCopyAfterMs, () => this.#sweep())
  }

  close(): void {
    this.#cancel?.()
    this.#slabs = []
  }

  #sweep(): void {
    this.#cancel = null
    const before = this.#nowMs() - slabCopyAfterMs
    this.#slabs = this.#slabs.filter(slab => {
      const live = slab.batches.filter(batch => batch.live && batch.inSlab)
      if (live.length === 0) return false
      const bytes = live.reduce((sum, batch) => sum + batch.bytes.length, 0)
      if (slab.bornMs > before || bytes >= slabBytes / 2) return true
      // What the kernel still reads stays, and is looked at again in a second.
      return live.filter(batch => !batch.copyOut(this.#account)).length > 0
    })
    if (this.#slabs.length > 0) this.#cancel = this.#after(slabCopyAfterMs, () => this.#sweep())
  }
}
