import { Buffer } from 'node:buffer'
import { memoryBytesMax, slabBytes, slabFrameBytesMin } from '../../limits.ts'

/**
 * The one memory account of a worker, for all its clusters and flow kinds (KAFKA-CLIENT W-31), and the slabs that
 * large fetch frames are read into (W-30). The garbage collector does not see slabs, hence the pool; slabs alone
 * bound nothing, for smaller frames lie outside them: bytes are counted, not slabs.
 */
export class MemoryAccount {
  #held = 0
  readonly #free: Buffer[] = []
  readonly #waiting: { capacity: number; length: number; take: (lease: Lease) => void }[] = []
  readonly #bytesMax: number
  readonly #poison: boolean
  readonly #room = new Set<() => void>()

  /** `poison`: returned memory is filled with 0xDB, so that a test sees a view used after its release (W-32). */
  constructor(how: { bytesMax?: number; poison?: boolean } = {}) {
    this.#bytesMax = how.bytesMax ?? memoryBytesMax
    this.#poison = how.poison ?? false
  }

  /** Capacity of every buffer not yet released, in bytes. */
  get heldBytes(): number {
    return this.#held
  }

  /** Slabs kept for the next frame, in bytes. */
  get keptBytes(): number {
    return this.#free.length * slabBytes
  }

  /** Sockets that are not read because their frame would pass the limit; no fetch is sent while there is one. */
  get waiting(): number {
    return this.#waiting.length
  }

  /**
   * A buffer for a frame of `length` bytes, at once, or null: then `take` is called when there is room, in the order
   * in which frames asked. With nothing held any frame passes. The given function takes a waiting frame back.
   */
  ask(length: number, take: (lease: Lease) => void): { lease: Lease } | { cancel: () => void } {
    const capacity = capacityFor(length)
    if (this.#waiting.length === 0 && this.#fits(capacity)) return { lease: this.#lend(length, capacity) }
    const entry = { capacity, length, take }
    this.#waiting.push(entry)
    return {
      cancel: () => {
        const i = this.#waiting.indexOf(entry)
        if (i < 0) return
        this.#waiting.splice(i, 1)
        if (this.#waiting.length === 0) this.#tellRoom()
        else this.#serve()
      },
    }
  }

  /** Memory that is already there and must be counted: what a flow made of its batches (W-71), what was copied out. */
  count(bytes: Buffer): Lease {
    this.#held += bytes.length
    return this.#lease(bytes, bytes.length, null)
  }

  /** Calls `tell` each time when nothing waits any more, so that fetchers go on. Gives the function that ends it. */
  whenRoom(tell: () => void): () => void {
    this.#room.add(tell)
    return () => this.#room.delete(tell)
  }

  #fits(capacity: number): boolean {
    return this.#held === 0 || this.#held + capacity <= this.#bytesMax
  }

  #lend(length: number, capacity: number): Lease {
    this.#held += capacity
    if (capacity !== slabBytes) return this.#lease(Buffer.allocUnsafeSlow(length), capacity, null)
    const slab = this.#free.pop() ?? Buffer.allocUnsafeSlow(slabBytes)
    return this.#lease(slab.subarray(0, length), capacity, slab)
  }

  #lease(bytes: Buffer, capacity: number, slab: Buffer | null): Lease {
    let references = 1
    return {
      bytes,
      slab: slab !== null,
      retain() {
        if (references === 0) throw new Error('a buffer was retained after its last release')
        references++
      },
      release: () => {
        if (references === 0) throw new Error('a buffer was released once too often')
        references--
        if (references === 0) this.#returned(bytes, capacity, slab)
      },
    }
  }

  #returned(bytes: Buffer, capacity: number, slab: Buffer | null): void {
    this.#held -= capacity
    if (this.#poison) (slab ?? bytes).fill(0xdb)
    if (slab && this.#held + this.keptBytes + slabBytes <= this.#bytesMax) this.#free.push(slab)
    this.#serve()
  }

  #serve(): void {
    if (this.#waiting.length === 0) return
    for (let first = this.#waiting[0]; first && this.#fits(first.capacity); first = this.#waiting[0]) {
      this.#waiting.shift()
      first.take(this.#lend(first.length, first.capacity))
    }
    if (this.#waiting.length === 0) this.#tellRoom()
  }

  #tellRoom(): void {
    for (const tell of this.#room) tell()
  }
}

/** A counted buffer; the last release gives it back. */
export type Lease = { readonly bytes: Buffer; readonly slab: boolean; retain(): void; release(): void }

function capacityFor(length: number): number {
  return length >= slabFrameBytesMin && length <= slabBytes ? slabBytes : length
}

/** A buffer outside the account: frames of `send` and `control` links, for an acknowledgement must not wait for the memory it frees. */
export function uncounted(length: number): Lease {
  return { bytes: Buffer.allocUnsafeSlow(length), slab: false, retain() {}, release() {} }
}
