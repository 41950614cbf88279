import { Buffer } from 'node:buffer'

const zeroId = 'AAAAAAAAAAAAAAAAAAAAAA'

/**
 * Kafka's flexible encoding (KAFKA-CLIENT W-11): lengths are an unsigned varint of length + 1 (0 = null), a tag
 * section ends every struct, numbers are big-endian. Only flexible versions are spoken, so there is one form.
 * Collects a request body as parts; a part given to `raw` is not copied.
 */
export class Writer {
  #buffer: Buffer
  #used = 0
  readonly #parts: Buffer[] = []

  constructor(firstBytes = 1024) {
    this.#buffer = Buffer.allocUnsafe(firstBytes)
  }

  #need(bytes: number): void {
    if (this.#used + bytes <= this.#buffer.length) return
    const grown = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#used + bytes))
    this.#buffer.copy(grown, 0, 0, this.#used)
    this.#buffer = grown
  }

  i8(value: number): this {
    this.#need(1)
    this.#used = this.#buffer.writeInt8(value, this.#used)
    return this
  }

  bool(value: boolean): this {
    return this.i8(value ? 1 : 0)
  }

  i16(value: number): this {
    this.#need(2)
    this.#used = this.#buffer.writeInt16BE(value, this.#used)
    return this
  }

  i32(value: number): this {
    this.#need(4)
    this.#used = this.#buffer.writeInt32BE(value, this.#used)
    return this
  }

  i64(value: bigint): this {
    this.#need(8)
    this.#used = this.#buffer.writeBigInt64BE(value, this.#used)
    return this
  }

  uvarint(value: number): this {
    this.#need(5)
    let rest = value
    while (rest > 127) {
      this.#buffer[this.#used++] = (rest & 127) | 128
      rest >>>= 7
    }
    this.#buffer[this.#used++] = rest
    return this
  }

  /** A topic id, 22 characters of URL-safe base64; `''` = the zero id. */
  uuid(id: string): this {
    this.#need(16)
    if (id === '') this.#buffer.fill(0, this.#used, this.#used + 16)
    else this.#buffer.write(id, this.#used, 16, 'base64url')
    this.#used += 16
    return this
  }

  str(text: string | null): this {
    if (text === null) return this.uvarint(0)
    const bytes = Buffer.byteLength(text)
    this.uvarint(bytes + 1)
    this.#need(bytes)
    this.#buffer.write(text, this.#used)
    this.#used += bytes
    return this
  }

  array<T>(items: readonly T[] | null, write: (item: T) => void): this {
    this.uvarint(items === null ? 0 : items.length + 1)
    for (const item of items ?? []) write(item)
    return this
  }

  tags(): this {
    return this.uvarint(0)
  }

  /** Bytes with their length, as a part of their own: not copied (W-33). */
  raw(bytes: Buffer): this {
    this.uvarint(bytes.length + 1)
    this.#parts.push(this.#buffer.subarray(0, this.#used), bytes)
    this.#buffer = this.#buffer.subarray(this.#used)
    this.#used = 0
    return this
  }

  done(): Buffer[] {
    if (this.#used > 0) this.#parts.push(this.#buffer.subarray(0, this.#used))
    return this.#parts
  }
}

/** Reads a response body. Past the end it throws a RangeError, which the link turns into `kafka-protocol`. */
export class Reader {
  readonly #bytes: Buffer
  #at: number

  constructor(bytes: Buffer, from = 0) {
    this.#bytes = bytes
    this.#at = from
  }

  get at(): number {
    return this.#at
  }

  get left(): number {
    return this.#bytes.length - this.#at
  }

  #take(length: number): number {
    const start = this.#at
    if (start + length > this.#bytes.length) throw new RangeError(`the frame ends at byte ${this.#bytes.length}`)
    this.#at = start + length
    return start
  }

  i8(): number {
    return this.#bytes.readInt8(this.#take(1))
  }

  bool(): boolean {
    return this.i8() !== 0
  }

  i16(): number {
    return this.#bytes.readInt16BE(this.#take(2))
  }

  i32(): number {
    return this.#bytes.readInt32BE(this.#take(4))
  }

  i64(): bigint {
    return this.#bytes.readBigInt64BE(this.#take(8))
  }

  uvarint(): number {
    let value = 0
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.#bytes.readUInt8(this.#take(1))
      value += (byte & 127) * 2 ** shift
      if (byte < 128) return value
    }
    throw new RangeError(`a varint is too long at byte ${this.#at}`)
  }

  /** A topic id as 22 characters of URL-safe base64; the zero id is `''`. */
  uuid(): string {
    const start = this.#take(16)
    const id = this.#bytes.toString('base64url', start, start + 16)
    return id === zeroId ? '' : id
  }

  str(): string | null {
    const length = this.uvarint() - 1
    if (length < 0) return null
    const start = this.#take(length)
    return this.#bytes.toString('utf8', start, start + length)
  }

  /** A view, not a copy; null stays null. */
  bytes(): Buffer | null {
    const length = this.uvarint() - 1
    if (length < 0) return null
    const start = this.#take(length)
    return this.#bytes.subarray(start, start + length)
  }

  /** Null stays null. */
  array<T>(read: () => T): T[] | null {
    const length = this.uvarint() - 1
    if (length < 0) return null
    if (length > this.left) throw new RangeError(`an array claims ${length} elements at byte ${this.#at}`)
    const items: T[] = []
    for (let i = 0; i < length; i++) items.push(read())
    return items
  }

  /** A tag section; tags that are not `known` are skipped by their size (W-11). */
  tags(known?: Record<number, () => void>): void {
    for (let count = this.uvarint(); count > 0; count--) {
      const tag = this.uvarint()
      const read = known?.[tag]
      const size = this.uvarint()
      const end = this.#take(size) + size
      if (read) {
        this.#at = end - size
        read()
      }
      this.#at = end
    }
  }
}
