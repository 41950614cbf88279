import { slabBytes, slabCopyAfterMs } from '../../limits.ts'
import type { FetchedBatch } from './fetchedBatch.ts'
import type { MemoryAccount } from './slab.ts'

type Slab = { bornMs: number; batches: FetchedBatch[] }

/**
 * Slabs that are held for little: one slow partition must not hold 10 MiB for each of its batches. What has been held
 * longer than a second in a slab that is less than half in use is copied out (KAFKA-CLIENT W-32).
 */
export class SlabWatch {
  readonly #account: MemoryAccount
  readonly #nowMs: () => number
  readonly #after: (ms: number, then: () => void) => () => void
  #slabs: Slab[] = []
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
      const live = inUse(slab)
      if (live.length === 0) return false
      const bytes = live.reduce((sum, batch) => sum + batch.bytes.length, 0)
      if (slab.bornMs > before || bytes >= slabBytes / 2) return true
      this.#giveBack(slab)
      return inUse(slab).length > 0
    })
    if (this.#slabs.length > 0) this.#cancel = this.#after(slabCopyAfterMs, () => this.#sweep())
  }

  /** All or none: while the kernel reads one of them the slab stays, and a copy of another would only cost more. */
  #giveBack(slab: Slab): void {
    const live = inUse(slab)
    const pinned = live.filter(batch => batch.pinned)
    for (const batch of pinned) batch.want(() => this.#giveBack(slab))
    if (pinned.length === 0) for (const batch of live) batch.copyOut(this.#account)
  }
}

function inUse(slab: Slab): FetchedBatch[] {
  return slab.batches.filter(batch => batch.live && batch.inSlab)
}
