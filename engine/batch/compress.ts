import { Buffer } from 'node:buffer'
import type { Codec } from './codec.ts'
import { at, type CodecName, codecMask, codecs, headerBytes, lengthOverheadBytes } from './header.ts'

/**
 * An uncompressed batch with its records section compressed as one block (M-30 row 10): the records stay as the
 * producer laid them out, and so does the header but for codec and length. Its CRC is wrong until `rewrite` makes it.
 */
export function compressed(bytes: Buffer, name: CodecName, codec: Codec): Buffer {
  const section = codec.compress(name, bytes.subarray(headerBytes))
  const made = Buffer.allocUnsafe(headerBytes + section.length)
  bytes.copy(made, 0, 0, headerBytes)
  section.copy(made, headerBytes)
  made.writeInt32BE(made.length - lengthOverheadBytes, at.batchLength)
  const attributes = bytes.readInt16BE(at.attributes)
  made.writeInt16BE((attributes & ~codecMask) | codecs.indexOf(name), at.attributes)
  return made
}
