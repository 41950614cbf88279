import { Buffer } from 'node:buffer'
import type { Header } from '../../batch/header.ts'
import type { Batch } from '../../ports/kafka.ts'
import type { Lease, MemoryAccount } from './slab.ts'

/** The stream of the batch: told when the last reference is gone, with the bytes that its window counted. */
export type Home = { released(bytes: number): void }

/**
 * A batch as a view of the frame it came in (KAFKA-CLIENT W-32). It holds one reference to the frame's buffer, and
 * gives it back with its own last release.
 */
export class FetchedBatch implements Batch {
  readonly header: Header
  bytes: Buffer
  readonly tailCrc: number | null
  #lease: Lease
  #references = 1
  #pins = 0
  #freed: (() => void) | null = null
  readonly #home: Home

  constructor(view: { header: Header; bytes: Buffer; tailCrc: number | null }, lease: Lease, home: Home) {
    this.header = view.header
    this.bytes = view.bytes
    this.tailCrc = view.tailCrc
    this.#lease = lease
    this.#home = home
  }

  get inSlab(): boolean {
    return this.#lease.slab
  }

  get live(): boolean {
    return this.#references > 0
  }

  retain(): void {
    if (this.#references === 0) throw new Error('a batch was retained after its last release')
    this.#references++
  }

  release(): void {
    if (this.#references === 0) throw new Error('a batch was released once too often')
    this.#references--
    if (this.#references > 0) return
    this.#lease.release()
    this.#home.released(this.header.bytes)
  }

  /** The kernel still reads these bytes: they may not move. */
  pin(): void {
    this.#pins++
  }

  unpin(): void {
    this.#pins--
    if (this.#pins > 0) return
    const freed = this.#freed
    this.#freed = null
    freed?.()
  }

  get pinned(): boolean {
    return this.#pins > 0
  }

  /** Its slab is held for little else, and cannot be given back because the kernel still reads this batch. */
  get wanted(): boolean {
    return this.#freed !== null && this.live && this.inSlab
  }

  /** Tells once when the kernel reads it no longer. */
  want(freed: () => void): void {
    this.#freed = freed
  }

  /** Moves the bytes out of a slab that is held for little else. Not while it is pinned. */
  copyOut(account: MemoryAccount): void {
    const slab = this.#lease
    // Counted before the slab is back: else whoever waits for memory gets what the copy takes.
    this.#lease = account.count(Buffer.from(this.bytes))
    this.bytes = this.#lease.bytes
    slab.release()
  }
}
