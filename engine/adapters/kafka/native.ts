import { createRequire } from 'node:module'
import { constants, gunzipSync, gzipSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { crc32c as nativeCrc32c } from '@node-rs/crc32'
import type { Codec } from '../../batch/codec.ts'
import type { Crc } from '../../batch/crc.ts'
import type { CodecName } from '../../batch/header.ts'
import { recordsBytesMax } from '../../limits.ts'
import { lz4BytesMax } from './lz4Frame.ts'

/** CRC-32C and the codecs are native; pure code gets them as arguments. */
export const crc32c: Crc = bytes => nativeCrc32c(bytes as Buffer) >>> 0

// Loaded when a batch is first opened, which the raw path never does: together they hold 6 MiB.
const require = createRequire(import.meta.url)
const lz4 = () => require('lz4-napi') as typeof import('lz4-napi')
const snappy = () => require('snappy') as typeof import('snappy')

const xerialMagic = Buffer.from('82534e4150505900', 'hex')
const xerialHeaderBytes = 16
const xerialBlockBytes = 32 * 1024

/** W-14: lz4 is the frame format, snappy is written by Java in xerial framing. */
export const codec: Codec = {
  compress(name: CodecName, bytes: Buffer): Buffer {
    switch (name) {
      case 'none':
        return bytes
      case 'gzip':
        return gzipSync(bytes)
      case 'snappy':
        return xerial(bytes)
      case 'lz4':
        return lz4().compressFrameSync(bytes)
      case 'zstd':
        return zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 3 } })
    }
  },

  /** Never more than `recordsBytesMax`: a small batch may claim any size. Throws RangeError for whatever is wrong. */
  decompress(name: CodecName, bytes: Buffer): Buffer {
    try {
      return opened(name, bytes)
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause)
      throw new RangeError(`the ${name} records cannot be decompressed: ${why}`, { cause })
    }
  },
}

const bounded = { maxOutputLength: recordsBytesMax }

function opened(name: CodecName, bytes: Buffer): Buffer {
  switch (name) {
    case 'none':
      return bytes
    case 'gzip':
      return gunzipSync(bytes, bounded)
    case 'snappy':
      return bytes.subarray(0, xerialMagic.length).equals(xerialMagic) ? fromXerial(bytes) : unsnap(bytes, 0)
    case 'lz4':
      refuseAbove(lz4BytesMax(bytes))
      return lz4().decompressFrameSync(bytes)
    case 'zstd':
      return zstdDecompressSync(bytes, bounded)
  }
}

function refuseAbove(bytes: number): void {
  if (bytes > recordsBytesMax) throw new RangeError(`they may be ${bytes} bytes, more than ${recordsBytesMax}`)
}

function xerial(bytes: Buffer): Buffer {
  const head = Buffer.alloc(xerialHeaderBytes)
  xerialMagic.copy(head)
  head.writeInt32BE(1, 8)
  head.writeInt32BE(1, 12)
  const parts: Buffer[] = [head]
  for (let from = 0; from < bytes.length; from += xerialBlockBytes) {
    const block = snappy().compressSync(bytes.subarray(from, from + xerialBlockBytes))
    const length = Buffer.alloc(4)
    length.writeInt32BE(block.length)
    parts.push(length, block)
  }
  return Buffer.concat(parts)
}

/** Brokers take a bare block too, so a reader must know both. */
function fromXerial(bytes: Buffer): Buffer {
  const parts: Buffer[] = []
  let made = 0
  for (let from = xerialHeaderBytes; from < bytes.length; ) {
    const start = from + 4
    const end = start + bytes.readInt32BE(from)
    if (end < start || end > bytes.length) throw new RangeError(`a block from byte ${start} to byte ${end}`)
    const part = unsnap(bytes.subarray(start, end), made)
    parts.push(part)
    made += part.length
    from = end
  }
  return Buffer.concat(parts)
}

/** A block begins with its own length as a varint; the library makes room for it before it reads on. */
function unsnap(block: Buffer, made: number): Buffer {
  let length = 0
  for (let i = 0; i < 5; i++) {
    const byte = block.readUInt8(i)
    length += (byte & 127) * 2 ** (7 * i)
    if (byte < 128) break
  }
  refuseAbove(made + length)
  return snappy().uncompressSync(block) as Buffer
}
