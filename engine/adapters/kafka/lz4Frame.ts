import type { Buffer } from 'node:buffer'

const magicBytes = 4
const stored = 0x80000000
/** No byte of a compressed block makes more than so many of its content. */
const growthMax = 255
const kib = 1024

/**
 * The most bytes that an LZ4 frame can hold, from the lengths of its blocks: the library itself knows no bound.
 * Throws RangeError where the frame ends early or names no block size. A frame without its end mark counts as it is.
 */
export function lz4BytesMax(frame: Buffer): number {
  const flags = frame.readUInt8(magicBytes)
  const blockBytesMax = blockBytesOf((frame.readUInt8(magicBytes + 1) >> 4) & 7)
  const blockChecksumBytes = flags & 0x10 ? 4 : 0
  const contentSizeBytes = flags & 0x08 ? 8 : 0
  const dictionaryBytes = flags & 0x01 ? 4 : 0
  let at = magicBytes + 2 + contentSizeBytes + dictionaryBytes + 1
  let bytesMax = 0
  while (at + 4 <= frame.length) {
    const word = frame.readUInt32LE(at)
    if (word === 0) break
    const size = word % stored
    bytesMax += Math.min(blockBytesMax, word >= stored ? size : size * growthMax)
    at += 4 + size + blockChecksumBytes
  }
  return bytesMax
}

function blockBytesOf(code: number): number {
  if (code < 4) throw new RangeError(`an LZ4 frame with blocks of kind ${code}`)
  return (64 * kib) << (2 * (code - 4))
}
