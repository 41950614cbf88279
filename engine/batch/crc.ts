/** CRC-32C of bytes as an unsigned number; native, handed in. */
export type Crc = (bytes: Uint8Array) => number

const polynomial = 0x82f63b78

/** Product of two polynomials modulo Castagnoli's, bits reflected, as zlib's crc32_combine does it. */
function multiply(a: number, b: number): number {
  let mask = 0x80000000
  let product = 0
  let factor = b
  for (;;) {
    if (a & mask) {
      product ^= factor
      if ((a & (mask - 1)) === 0) return product >>> 0
    }
    mask >>>= 1
    factor = factor & 1 ? (factor >>> 1) ^ polynomial : factor >>> 1
  }
}

/** powers[k] = x^(2^k). */
const powers: number[] = [0x40000000]
for (let k = 1; k < 32; k++) powers.push(multiply(powers[k - 1] as number, powers[k - 1] as number))

/** x^(8 × bytes): what a CRC is multiplied with when so many bytes follow. */
function shiftFor(bytes: number): number {
  let shift = 0x80000000
  for (let rest = bytes, k = 3; rest > 0; rest = Math.floor(rest / 2), k++) {
    if (rest & 1) shift = multiply(powers[k & 31] as number, shift)
  }
  return shift
}

/** The CRC of A‖B from those of A and B (W-15). `tailBytes` = length of B. */
export function combine(head: number, tail: number, tailBytes: number): number {
  return ((head === 0 ? 0 : multiply(shiftFor(tailBytes), head)) ^ tail) >>> 0
}
