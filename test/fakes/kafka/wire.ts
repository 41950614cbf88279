import { Buffer } from 'node:buffer'
import type { Link, Wire } from '../../../engine/adapters/kafka/link.ts'

/**
 * A connection in memory. Requests come out whole and copied, as a kernel copies them; responses go in as through
 * Node's `onread`, in pieces of at most `pieceBytes`, and not while the link wants none. Like Node it asks for the next
 * buffer as soon as it has given the last, so after a pause it writes to one that was asked for before the pause.
 * While it `isDeaf` nothing is taken of what is written but by `take`: the bytes are read where they lie, and one
 * callback comes for all that waits, as from a kernel.
 */
export class FakeWire implements Wire {
  readonly #onRequest: (frame: Buffer) => void
  readonly #onClosed: () => void
  readonly #pieceBytes: number
  #link: Link | null = null
  #target: Buffer | null = null
  #out: Buffer[] = []
  readonly #isDeaf: () => boolean
  #untaken: { bytes: Buffer; done: ((error?: Error | null) => void) | undefined }[] = []
  readonly #in: Buffer[] = []
  #reading = true
  #pumping = false
  closed = false
  /** The link does not read at present (W-31). */
  get paused(): boolean {
    return !this.#reading
  }

  constructor(how: {
    onRequest: (frame: Buffer) => void
    onClosed?: () => void
    pieceBytes?: number
    isDeaf?: () => boolean
  }) {
    this.#onRequest = how.onRequest
    this.#onClosed = how.onClosed ?? (() => {})
    this.#isDeaf = how.isDeaf ?? (() => false)
    this.#pieceBytes = how.pieceBytes ?? 256 * 1024
  }

  attach(link: Link): void {
    this.#link = link
  }

  cork(): void {}

  write(bytes: Buffer, done?: (error?: Error | null) => void): boolean {
    if (this.closed) {
      if (done) queueMicrotask(() => done(new Error('closed')))
      return false
    }
    if (this.#isDeaf() || this.#untaken.length > 0) {
      this.#untaken.push({ bytes, done })
      return false
    }
    this.#out.push(Buffer.from(bytes))
    if (done) queueMicrotask(() => done())
    return true
  }

  get unsentBytes(): number {
    return this.#untaken.reduce((sum, { bytes }) => sum + bytes.length, 0)
  }

  /** The kernel takes so many bytes of what waits. */
  take(bytesMax: number): void {
    let left = bytesMax
    for (const one of this.#untaken) {
      const taken = one.bytes.subarray(0, Math.min(left, one.bytes.length))
      this.#out.push(Buffer.from(taken))
      one.bytes = one.bytes.subarray(taken.length)
      left -= taken.length
    }
    if (this.unsentBytes === 0) this.#untakenDone(null)
    this.uncork()
  }

  #untakenDone(error: Error | null): void {
    for (const { done } of this.#untaken.splice(0)) if (done) queueMicrotask(() => done(error))
  }

  uncork(): void {
    const all = Buffer.concat(this.#out)
    let from = 0
    while (from + 4 <= all.length && from + 4 + all.readInt32BE(from) <= all.length) {
      const to = from + 4 + all.readInt32BE(from)
      this.#onRequest(all.subarray(from + 4, to))
      from = to
    }
    this.#out = from < all.length ? [all.subarray(from)] : []
  }

  resume(): void {
    this.#reading = true
    queueMicrotask(() => this.#pump())
  }

  destroy(): void {
    if (this.closed) return
    this.closed = true
    this.#untakenDone(new Error('closed'))
    this.#in.length = 0
    this.#onClosed()
  }

  resetAndDestroy(): void {
    this.destroy()
  }

  /** The broker's end closes. */
  lose(why = 'the broker closed it'): void {
    this.#link?.failed(why)
  }

  /** Bytes of the broker on their way to the link. */
  deliver(bytes: Buffer): void {
    if (this.closed) return
    this.#in.push(bytes)
    this.#pump()
  }

  #pump(): void {
    const link = this.#link
    if (!link || this.#pumping) return
    this.#pumping = true
    while (this.#reading && !this.closed) {
      const next = this.#in[0]
      if (!next) break
      const target = this.#target ?? link.target()
      const bytes = Math.min(next.length, target.length, this.#pieceBytes)
      next.copy(target, 0, 0, bytes)
      if (bytes === next.length) this.#in.shift()
      else this.#in[0] = next.subarray(bytes)
      if (!link.read(bytes)) this.#reading = false
      this.#target = link.target()
    }
    this.#pumping = false
  }
}
