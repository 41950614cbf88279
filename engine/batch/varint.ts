/** Zigzag varints of records: 32 bits for lengths and deltas, 64 for time deltas. */
export class VarintReader {
  readonly bytes: Buffer
  at: number

  constructor(bytes: Buffer, from: number) {
    this.bytes = bytes
    this.at = from
  }

  /** Throws RangeError, as all of these do, where the bytes end early or hold something else. */
  int(): number {
    const value = Number(this.long())
    if (value !== (value | 0)) throw new RangeError(`a varint is larger than 32 bits before byte ${this.at}`)
    return value
  }

  long(): bigint {
    let low = 0
    let scale = 1
    for (let i = 0; i < 7; i++) {
      const byte = this.#byte()
      low += (byte & 127) * scale
      scale *= 128
      if (byte < 128) return low % 2 === 0 ? BigInt(low / 2) : BigInt(-(low + 1) / 2)
    }
    let value = BigInt(low)
    for (let shift = 49n; shift < 70n; shift += 7n) {
      const byte = this.#byte()
      value |= BigInt(byte & 127) << shift
      if (byte < 128) return BigInt.asIntN(64, (BigInt.asUintN(64, value) >> 1n) ^ -(value & 1n))
    }
    throw new RangeError(`a varint is too long at byte ${this.at}`)
  }

  /** Bytes with their length before them; −1 = null. A view. */
  sized(): Buffer | null {
    const length = this.int()
    if (length < 0) return null
    const from = this.at
    if (from + length > this.bytes.length) throw new RangeError(`the records end at byte ${this.bytes.length}`)
    this.at = from + length
    return this.bytes.subarray(from, this.at)
  }

  skip(bytes: number): void {
    for (let i = 0; i < bytes; i++) this.#byte()
  }

  #byte(): number {
    const byte = this.bytes[this.at++]
    if (byte === undefined) throw new RangeError(`the records end at byte ${this.bytes.length}`)
    return byte
  }
}

/** Appends to a list of numbers; records are small pieces between large views. */
export function pushVarint(out: number[], value: bigint): void {
  let rest = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n))
  while (rest > 127n) {
    out.push(Number(rest & 127n) | 128)
    rest >>= 7n
  }
  out.push(Number(rest))
}

/** The same for what surely fits 31 bits. */
export function pushSmall(out: number[], value: number): void {
  let rest = value < 0 ? -value * 2 - 1 : value * 2
  while (rest > 127) {
    out.push((rest % 128) | 128)
    rest = Math.floor(rest / 128)
  }
  out.push(rest)
}
